#![cfg(not(loom))]
//! FF1 against NIST's samples, the crate `fpe`, and an implementation on digits that follows the
//! steps of the standard.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use flakeid_core::ff1::{BlockCipher, Domain};
use fpe::ff1::{FF1, FlexibleNumeralString};
use proptest::prelude::*;

struct Aes<C>(C);

impl<C: BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16>> BlockCipher for Aes<C> {
    fn encrypt(&self, block: &mut [u8; 16]) {
        self.0.encrypt_block(block.into());
    }
}

fn number(digits: &str, radix: u32) -> u128 {
    u128::from_str_radix(digits, radix).unwrap()
}

fn digits(mut number: u128, radix: u32, length: u32) -> Vec<u16> {
    let mut digits = vec![0; length as usize];
    for digit in digits.iter_mut().rev() {
        *digit = (number % u128::from(radix)) as u16;
        number /= u128::from(radix);
    }
    assert_eq!(number, 0);
    digits
}

fn of_digits(digits: &[u16], radix: u32) -> u128 {
    digits.iter().fold(0, |number, &digit| number * u128::from(radix) + u128::from(digit))
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// NIST, "Block Cipher Modes of Operation: FF1 Method for Format-Preserving Encryption", examples
/// with intermediate values.
const KEY: &str = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94";
const TWEAK_10: &str = "39383736353433323130";
const TWEAK_36: &str = "3737373770717273373737";
const SAMPLES: [(usize, u32, &str, &str, &str); 9] = [
    (16, 10, "", "0123456789", "2433477484"),
    (16, 10, TWEAK_10, "0123456789", "6124200773"),
    (16, 36, TWEAK_36, "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
    (24, 10, "", "0123456789", "2830668132"),
    (24, 10, TWEAK_10, "0123456789", "2496655549"),
    (24, 36, TWEAK_36, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"),
    (32, 10, "", "0123456789", "6657667009"),
    (32, 10, TWEAK_10, "0123456789", "1001623463"),
    (32, 36, TWEAK_36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
];

#[test]
fn samples_of_nist() {
    for (key_bytes, radix, tweak, plain, encrypted) in SAMPLES {
        let (key, tweak) = (&bytes(KEY)[..key_bytes], bytes(tweak));
        let domain = Domain::new(radix, plain.len() as u32);
        let (plain, encrypted) = (number(plain, radix), number(encrypted, radix));
        let both =
            |cipher: &dyn Fn(u128, bool) -> u128| (cipher(plain, true), cipher(encrypted, false));
        macro_rules! with {
            ($Cipher:ident) => {{
                let cipher = Aes($Cipher::new_from_slice(key).unwrap());
                both(&|number, encrypts| match encrypts {
                    true => domain.encrypt(&cipher, &tweak, number),
                    false => domain.decrypt(&cipher, &tweak, number),
                })
            }};
        }
        let found = match key_bytes {
            16 => with!(Aes128),
            24 => with!(Aes192),
            _ => with!(Aes256),
        };
        assert_eq!(found, (encrypted, plain), "AES-{} in base {radix}", key_bytes * 8);
    }
}

/// Algorithm 7 of SP 800-38G, step by step.
mod naive {
    use super::{BlockCipher, digits, of_digits};

    fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
        a.iter().zip(b).map(|(a, b)| a ^ b).collect()
    }

    fn ciph(cipher: &impl BlockCipher, block: &[u8]) -> Vec<u8> {
        let mut block: [u8; 16] = block.try_into().unwrap();
        cipher.encrypt(&mut block);
        block.into()
    }

    fn prf(cipher: &impl BlockCipher, x: &[u8]) -> Vec<u8> {
        assert_eq!(x.len() % 16, 0);
        x.chunks(16).fold(vec![0; 16], |y, block| ciph(cipher, &xor(&y, block)))
    }

    /// Returns the bytes of a number, the standard's `[x]^s`.
    fn of(x: u128, s: usize) -> Vec<u8> {
        x.to_be_bytes()[16 - s..].to_vec()
    }

    pub fn encrypt(cipher: &impl BlockCipher, t: &[u8], x: &[u16], radix: u32) -> Vec<u16> {
        let n = x.len();
        let u = n / 2;
        let v = n - u;
        let (mut a, mut b) = (x[..u].to_vec(), x[u..].to_vec());
        let bits = (v as f64 * f64::from(radix).log2()).ceil() as usize;
        let bytes = bits.div_ceil(8);
        let d = 4 * bytes.div_ceil(4) + 4;
        let mut p = vec![1, 2, 1];
        p.extend(of(radix.into(), 3));
        p.extend([10, (u % 256) as u8]);
        p.extend(of(n as u128, 4));
        p.extend(of(t.len() as u128, 4));
        for i in 0..10 {
            let zeros = (16 - (t.len() + bytes + 1) % 16) % 16;
            let mut q = t.to_vec();
            q.extend(vec![0; zeros]);
            q.push(i);
            q.extend(of(of_digits(&b, radix), bytes));
            let r = prf(cipher, &[p.clone(), q].concat());
            let mut s = r.clone();
            for j in 1..d.div_ceil(16) {
                s.extend(ciph(cipher, &xor(&r, &of(j as u128, 16))));
            }
            let y = s[..d].iter().fold(0, |y: u128, &byte| y << 8 | u128::from(byte));
            let m = if i % 2 == 0 { u } else { v };
            let modulus = u128::from(radix).pow(m as u32);
            let c = (of_digits(&a, radix) + y % modulus) % modulus;
            a = b;
            b = digits(c, radix, m as u32);
        }
        [a, b].concat()
    }
}

fn cipher(key: &[u8; 32]) -> Aes<Aes256> {
    Aes(Aes256::new(key.into()))
}

/// The lengths of IDs and of those with zeros beside them, and others.
fn bits() -> impl Strategy<Value = u32> {
    prop_oneof![prop::sample::select(vec![64, 80, 96, 116, 122, 128]), 20..=128u32]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn bits_are_encrypted_as_by_fpe_and_by_the_standard(
        key: [u8; 32], bits in bits(), number: u128, tweak in prop::collection::vec(any::<u8>(), 0..80)
    ) {
        let number = number >> (128 - bits);
        let domain = Domain::of_bits(bits);
        let cipher = cipher(&key);
        let encrypted = domain.encrypt(&cipher, &tweak, number);
        prop_assert!(bits == 128 || encrypted < 1 << bits);
        let of_number = digits(number, 2, bits);
        prop_assert_eq!(of_digits(&naive::encrypt(&cipher, &tweak, &of_number, 2), 2), encrypted);
        let by_fpe = FF1::<Aes256>::new(&key, 2).unwrap();
        let by_fpe = by_fpe.encrypt(&tweak, &FlexibleNumeralString::from(of_number)).unwrap();
        prop_assert_eq!(of_digits(&Vec::from(by_fpe), 2), encrypted);
        prop_assert_eq!(domain.decrypt(&cipher, &tweak, encrypted), number);
    }

    #[test]
    fn digits_are_encrypted_as_by_fpe_and_by_the_standard(
        key: [u8; 32], radix in 3..=62u32, length in 13..=21u32, number: u128,
        tweak in prop::collection::vec(any::<u8>(), 0..80)
    ) {
        let number = number % u128::from(radix).pow(length);
        let domain = Domain::new(radix, length);
        let cipher = cipher(&key);
        let encrypted = domain.encrypt(&cipher, &tweak, number);
        let of_number = digits(number, radix, length);
        prop_assert_eq!(of_digits(&naive::encrypt(&cipher, &tweak, &of_number, radix), radix), encrypted);
        let by_fpe = FF1::<Aes256>::new(&key, radix).unwrap();
        let by_fpe = by_fpe.encrypt(&tweak, &FlexibleNumeralString::from(of_number)).unwrap();
        prop_assert_eq!(of_digits(&Vec::from(by_fpe), radix), encrypted);
        prop_assert_eq!(domain.decrypt(&cipher, &tweak, encrypted), number);
    }
}

#[test]
fn a_small_domain_is_permuted() {
    let (domain, cipher) = (Domain::of_bits(20), cipher(&[7; 32]));
    let mut seen = vec![false; 1 << 20];
    for number in 0..1 << 20 {
        let encrypted = domain.encrypt(&cipher, b"tweak", number);
        assert!(!std::mem::replace(&mut seen[encrypted as usize], true));
    }
}

#[test]
#[should_panic(expected = "FF1 does not permute")]
fn a_domain_that_is_too_small_is_refused() {
    Domain::of_bits(19);
}
