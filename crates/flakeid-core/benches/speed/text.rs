//! An ID's fields and its text: `pack` puts the fields together, `parts` takes the ID apart,
//! `write` and `read` are its text, in the bases of its ID type.
//!
//! A time is that of one call. It is always the same ID, so caches and branch prediction know it:
//! the time is the least that a call costs. Calls that take less than a nanosecond are not
//! distinguished.

use divan::{Bencher, black_box};
use flakeid_core::clock::Tick;

/// The milliseconds from 1970 to a day in the year 2025.
const MILLIS: Tick = Tick(1_750_000_000_123);

#[divan::bench_group(sample_size = 10_000)]
mod flake {
    use super::*;
    use flakeid_core::flake::{Format, Id, Parts};

    const ID: Id = Id::pack(MILLIS, 777, 1234);

    #[divan::bench]
    fn pack() -> Id {
        Id::pack(black_box(MILLIS), black_box(777), black_box(1234))
    }

    #[divan::bench]
    fn parts() -> Parts {
        black_box(&ID).parts()
    }

    #[divan::bench(args = Format::ALL)]
    fn write(bencher: Bencher, format: Format) {
        bencher.bench(|| {
            format.write(*black_box(&ID), |text| {
                black_box(text);
            })
        });
    }

    #[divan::bench(args = Format::ALL)]
    fn read(bencher: Bencher, format: Format) {
        let text = format.write(ID, str::to_owned);
        bencher.bench(|| format.read(black_box(text.as_bytes())));
    }
}

#[divan::bench_group(sample_size = 10_000)]
mod sno {
    use super::*;
    use flakeid_core::generator::Stamp;
    use flakeid_core::sno::{Id, Parts, TickTock};

    const STAMP: Stamp = Stamp::new::<TickTock>(Tick(121_923_968_123), true);
    const ID: Id = Id::pack(STAMP, 7, 777, 12_345);

    #[divan::bench]
    fn pack() -> Id {
        Id::pack(black_box(STAMP), black_box(7), black_box(777), black_box(12_345))
    }

    #[divan::bench]
    fn parts() -> Parts {
        black_box(&ID).parts()
    }

    #[divan::bench]
    fn write() -> [u8; 16] {
        black_box(&ID).text()
    }

    #[divan::bench]
    fn read(bencher: Bencher) {
        let text = ID.text();
        bencher.bench(|| Id::from_text(black_box(&text)));
    }
}

#[divan::bench_group(sample_size = 10_000)]
mod flake128 {
    use super::*;
    use flakeid_core::base62::Text;
    use flakeid_core::flake128::{Id, Parts};

    const WORKER: u64 = 0x0242_ac11_0002;
    const ID: Id = Id::pack(MILLIS, WORKER, 12_345);

    #[divan::bench]
    fn pack() -> Id {
        Id::pack(black_box(MILLIS), black_box(WORKER), black_box(12_345))
    }

    #[divan::bench]
    fn parts() -> Parts {
        black_box(&ID).parts()
    }

    #[divan::bench]
    fn write_base62() -> Text {
        black_box(&ID).text(62)
    }

    #[divan::bench]
    fn read_base62(bencher: Bencher) {
        let text = ID.text(62);
        bencher.bench(|| Id::from_text(black_box(text.as_str().as_bytes()), 62));
    }
}

#[divan::bench_group(sample_size = 10_000)]
mod guid {
    use super::*;
    use flakeid_core::base62::Text;
    use flakeid_core::guid::{Drift, Id, Parts};

    const PARTS: Parts = Parts {
        drift: Drift::DEFAULT,
        time: Tick(13_351_440_430_665),
        node: 0xc0de_0001,
        sequence: 12_345,
    };
    const ID: Id = Id::pack(PARTS);

    #[divan::bench]
    fn pack() -> Id {
        Id::pack(*black_box(&PARTS))
    }

    #[divan::bench]
    fn parts() -> Parts {
        black_box(&ID).parts()
    }

    #[divan::bench]
    fn write() -> [u8; 16] {
        black_box(&ID).text()
    }

    #[divan::bench]
    fn read(bencher: Bencher) {
        let text = ID.text();
        bencher.bench(|| Id::from_text(black_box(&text)));
    }

    #[divan::bench]
    fn write_base62() -> Text {
        black_box(&ID).base62()
    }

    #[divan::bench]
    fn read_base62(bencher: Bencher) {
        let text = ID.base62();
        bencher.bench(|| Id::from_base62(black_box(text.as_str().as_bytes())));
    }
}

#[divan::bench_group(sample_size = 10_000)]
mod guid_local {
    use super::*;
    use flakeid_core::guid::{Drift, Parts};
    use flakeid_core::guid_local::Local;

    const PARTS: Parts =
        Parts { drift: Drift::DEFAULT, time: Tick(13_351_440_430_665), node: 0, sequence: 12_345 };
    const ID: Local = Local::pack(PARTS);

    #[divan::bench]
    fn pack() -> Local {
        Local::pack(*black_box(&PARTS))
    }

    #[divan::bench]
    fn parts() -> Parts {
        black_box(&ID).parts()
    }

    #[divan::bench]
    fn write() -> [u8; 16] {
        black_box(&ID).text()
    }

    #[divan::bench]
    fn read(bencher: Bencher) {
        let text = ID.text();
        bencher.bench(|| Local::from_text(black_box(&text)));
    }
}

#[divan::bench_group(sample_size = 10_000)]
mod uniqueid {
    use super::*;
    use flakeid_core::uniqueid::{Id, Mode, Parts};

    const PARTS: Parts =
        Parts { time: MILLIS, sequence: 42, generator: 777, cluster: 3, mode: Mode::Spread };
    const ID: Id = Id::pack(PARTS);

    #[divan::bench]
    fn pack() -> Id {
        Id::pack(*black_box(&PARTS))
    }

    #[divan::bench]
    fn parts() -> Parts {
        black_box(&ID).parts()
    }

    #[divan::bench]
    fn write() -> [u8; 16] {
        black_box(&ID).text()
    }

    #[divan::bench]
    fn read(bencher: Bencher) {
        let text = ID.text();
        bencher.bench(|| Id::from_text(black_box(&text)));
    }
}
