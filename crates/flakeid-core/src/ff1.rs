//! FF1, format-preserving encryption: NIST SP 800-38G, algorithms 7 and 8.
//!
//! It encrypts a number of a fixed count of digits to another number of as many digits. Each tweak,
//! a text that is no secret, gives another permutation of the numbers. The block cipher is the
//! caller's, since this crate has no dependencies.
//!
//! # Why it is here
//! The crate `fpe` has FF1 on numbers of any length, and takes 4 to 21 µs for those of an ID. An ID
//! has at most 128 bits, so that its halves are machine words. The tests compare this code with
//! NIST's samples, with `fpe`, and with a second implementation that follows the standard's steps
//! on digits.
//!
//! # What is computed once
//! In each of the ten rounds the standard computes a CBC-MAC of the block P and the string Q. P and
//! the first blocks of Q, which hold the tweak, are the same in all rounds. Only the last block of
//! Q has the number of the round and the half. So a round is one call of the block cipher, for
//! halves of at most [`MAX_HALF_BYTES`] bytes.

/// A block cipher with a key: AES, of any key length.
pub trait BlockCipher {
    /// Encrypts a block in place.
    fn encrypt(&self, block: &mut [u8; BLOCK]);
}

/// The bytes of a block.
const BLOCK: usize = 16;

/// The rounds of the Feistel network.
const ROUNDS: u8 = 10;

/// The largest half that one block of the MAC is enough for: the standard's `d` is at most a block
/// then.
pub const MAX_HALF_BYTES: usize = 12;

/// The smallest number of different texts that NIST allows (SP 800-38G, revision 1).
const MIN_DOMAIN: u128 = 1_000_000;

/// Numbers of `length` digits in `radix`, which FF1 permutes.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    radix: u32,
    length: u32,
    /// `radix` to the power of the lengths of the left and the right half, the standard's `u` and
    /// `v`.
    left: u128,
    right: u128,
    /// The bytes of a half, the standard's `b`.
    half_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

impl Domain {
    /// Returns the numbers of `length` digits in `radix`.
    ///
    /// # Panics
    /// If the numbers have more than 128 bits, a half has more than [`MAX_HALF_BYTES`] bytes, or
    /// NIST does not allow so few numbers.
    pub const fn new(radix: u32, length: u32) -> Self {
        assert!(radix >= 2 && radix <= 1 << 16);
        let left = (radix as u128).pow(length / 2);
        let right = (radix as u128).pow(length - length / 2);
        let half_bytes = (128 - (right - 1).leading_zeros()).div_ceil(8) as usize;
        assert!(half_bytes <= MAX_HALF_BYTES);
        let last = (left - 1).checked_mul(right);
        let (Some(last), true) = (last, left.saturating_mul(right) >= MIN_DOMAIN) else {
            panic!("FF1 does not permute these numbers here");
        };
        assert!(last.checked_add(right - 1).is_some());
        Self { radix, length, left, right, half_bytes }
    }

    /// Returns the numbers of `bits` bits.
    pub const fn of_bits(bits: u32) -> Self {
        Self::new(2, bits)
    }

    /// Encrypts a number of the domain.
    pub fn encrypt(&self, cipher: &impl BlockCipher, tweak: &[u8], number: u128) -> u128 {
        self.permute(cipher, tweak, number, Direction::Encrypt)
    }

    /// Decrypts a number of the domain: the inverse of [`Self::encrypt`].
    pub fn decrypt(&self, cipher: &impl BlockCipher, tweak: &[u8], number: u128) -> u128 {
        self.permute(cipher, tweak, number, Direction::Decrypt)
    }

    fn permute(
        &self,
        cipher: &impl BlockCipher,
        tweak: &[u8],
        number: u128,
        direction: Direction,
    ) -> u128 {
        let mac = Mac::new(self, cipher, tweak);
        let (mut a, mut b) = (number / self.right, number % self.right);
        debug_assert!(a < self.left);
        match direction {
            Direction::Encrypt => {
                for round in 0..ROUNDS {
                    let modulus = self.modulus(round);
                    let c = rest(a + rest(mac.of(cipher, round, b), modulus), modulus);
                    (a, b) = (b, c);
                }
            }
            Direction::Decrypt => {
                for round in (0..ROUNDS).rev() {
                    let modulus = self.modulus(round);
                    let c = rest(b + modulus - rest(mac.of(cipher, round, a), modulus), modulus);
                    (a, b) = (c, a);
                }
            }
        }
        // The number of rounds is even, so that the halves have their lengths again.
        a * self.right + b
    }

    /// Returns the modulus of the half that a round computes.
    const fn modulus(&self, round: u8) -> u128 {
        if round.is_multiple_of(2) { self.left } else { self.right }
    }
}

/// Returns the rest of a division. The halves of an ID are bits, and a division of 128 bits is
/// slow.
const fn rest(number: u128, modulus: u128) -> u128 {
    match modulus.is_power_of_two() {
        true => number & (modulus - 1),
        false => number % modulus,
    }
}

/// The parts of the MAC that all rounds of one number have in common.
struct Mac {
    /// The CBC-MAC of P and of all blocks of Q but the last.
    chained: [u8; BLOCK],
    /// The last block of Q, of which the round and the half are missing.
    last: [u8; BLOCK],
    half_bytes: usize,
    /// The bytes of the result that are used, the standard's `d`.
    used_bytes: usize,
}

impl Mac {
    fn new(domain: &Domain, cipher: &impl BlockCipher, tweak: &[u8]) -> Self {
        let half_bytes = domain.half_bytes;
        let mut chained = [0; BLOCK];
        let [_, radix @ ..] = domain.radix.to_be_bytes();
        chained[..3].copy_from_slice(&[1, 2, 1]);
        chained[3..6].copy_from_slice(&radix);
        chained[6] = ROUNDS;
        chained[7] = (domain.length / 2) as u8;
        chained[8..12].copy_from_slice(&domain.length.to_be_bytes());
        chained[12..].copy_from_slice(&(tweak.len() as u32).to_be_bytes());
        cipher.encrypt(&mut chained);

        // Q is the tweak, zeros up to the end of a block, the number of the round, and the half.
        let tail = 1 + half_bytes;
        let whole = (tweak.len() + tail).next_multiple_of(BLOCK) - BLOCK;
        let (mut blocks, mut last) = (tweak, [0; BLOCK]);
        for _ in 0..whole / BLOCK {
            let (block, rest) = blocks.split_at(blocks.len().min(BLOCK));
            for (byte, of_tweak) in chained.iter_mut().zip(block) {
                *byte ^= of_tweak;
            }
            cipher.encrypt(&mut chained);
            blocks = rest;
        }
        last[..blocks.len()].copy_from_slice(blocks);
        let used_bytes = 4 * half_bytes.div_ceil(4) + 4;
        Self { chained, last, half_bytes, used_bytes }
    }

    /// Returns the number that a round adds to one half, from the other half.
    fn of(&self, cipher: &impl BlockCipher, round: u8, half: u128) -> u128 {
        let mut block = self.last;
        let of_half = half.to_be_bytes();
        block[BLOCK - 1 - self.half_bytes] = round;
        block[BLOCK - self.half_bytes..].copy_from_slice(&of_half[BLOCK - self.half_bytes..]);
        for (byte, chained) in block.iter_mut().zip(&self.chained) {
            *byte ^= chained;
        }
        cipher.encrypt(&mut block);
        u128::from_be_bytes(block) >> (8 * (BLOCK - self.used_bytes))
    }
}
