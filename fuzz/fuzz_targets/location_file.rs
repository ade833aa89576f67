#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| flakeid_fuzz::checks::location_file(data));
