//! The SQL functions of the public form: `X_to_public`, `X_from_public`, `X_to_public_uuid`,
//! `X_from_public_uuid`.
//!
//! The core has the [form](flakeid_core::public_form); [`public_keys`] has the keys.
//!
//! # What is checked after decryption
//! FF1 has no checksum: each text of the right length decrypts to some number. So an ID whose time
//! is more than a day after the clock is refused, and so is one that has bits which no ID has.
//! `X_to_public` refuses the same IDs, so that what it returns can be read. In a UUID the zeros
//! above a smaller ID are checked, too.

use super::flake::server_origin;
use super::flake128::Flake128;
use super::guid::Guid;
use super::guid_local::GuidLocal;
use super::sno::Sno;
use super::uniqueid::UniqueId;
use super::value::Value;
use crate::clock::now;
use crate::error::{Code, OrRaise, Report, quoted, text_detail};
use crate::public_keys::{self, Key};
use crate::{guc, random};
use flakeid_core::Error;
use flakeid_core::clock::UnixMicros;
use flakeid_core::guid::Clock;
use flakeid_core::public_form::{self, MAX_PREFIX_LEN, PublicForm, UUID_BITS, Version};
use flakeid_core::{flake, flake128, guid, guid_local, sno, uniqueid, uuidv7};
use pgrx::datum::Uuid;
use pgrx::prelude::*;
use zeroize::Zeroizing;

/// How far the time of an ID may be after the clock, in microseconds.
const MAX_AHEAD: i64 = 86_400_000_000;

/// An ID type whose IDs have a public form.
pub(super) trait Public: Copy {
    const NAME: &'static str;
    const BITS: u32;
    const FORM: PublicForm = PublicForm::of_bits(Self::BITS);
    /// Returns the number that is encrypted.
    fn number(self) -> u128;
    fn of_number(number: u128) -> Self;
    /// Returns whether an ID of the type can have this value at a time until `latest`.
    fn is_possible(self, latest: UnixMicros) -> bool;
}

/// Does not compile for a type without a public form.
pub(super) const fn ensure_public_form<T: Public>() {}

/// Implements the public form for a type whose values are bytes. `$Id` makes the core's ID of a
/// value.
macro_rules! public {
    ($Type:ident $bits:literal, |$id:ident, $latest:ident| $is_possible:expr) => {
        impl Public for $Type {
            const NAME: &'static str = <$Type as Value>::TYPE_INFO.name;
            const BITS: u32 = $bits;

            fn number(self) -> u128 {
                super::sort::number(self.bytes().as_ref())
            }

            fn of_number(number: u128) -> Self {
                const LEN: usize = $bits / 8;
                let mut bytes = [0; LEN];
                bytes.copy_from_slice(&number.to_be_bytes()[16 - LEN..]);
                Self::of_bytes(bytes)
            }

            fn is_possible(self, $latest: UnixMicros) -> bool {
                let $id = self.bytes();
                $is_possible
            }
        }
    };
}

public!(Sno 80, |id, latest| sno::Id(id).time() <= latest);
public!(Flake128 128, |id, latest| flake128::Id(id).time() <= latest);
// A guid does not show whether it is inverse, so that either clock counts.
public!(Guid 96, |id, latest| {
    [Clock::Unix, Clock::Inverse].iter().any(|&clock| guid::Id(id).time(clock) <= latest)
});
public!(GuidLocal 64, |id, latest| {
    let id = guid_local::Local(u64::from_be_bytes(id));
    [Clock::Unix, Clock::Inverse].iter().any(|&clock| id.time(clock) <= latest)
});
public!(UniqueId 64, |id, latest| uniqueid::Id(u64::from_be_bytes(id)).time() <= latest);

/// A flake. A negative one is later than all that a server generates.
impl Public for i64 {
    const NAME: &'static str = flake::NAME;
    const BITS: u32 = i64::BITS;

    fn number(self) -> u128 {
        (self as u64).into()
    }

    fn of_number(number: u128) -> Self {
        number as Self
    }

    fn is_possible(self, latest: UnixMicros) -> bool {
        self >= 0 && flake::Id(self as u64).time(server_origin()) <= latest
    }
}

/// A uuidv7, or a uuid of another version, which has no public form.
impl Public for Uuid {
    const NAME: &'static str = uuidv7::NAME;
    const BITS: u32 = UUID_BITS;

    fn number(self) -> u128 {
        public_form::without_version(u128::from_be_bytes(*self.as_bytes()))
    }

    fn of_number(number: u128) -> Self {
        Self::from_bytes(public_form::with_version(number, uuidv7::COMMON).to_be_bytes())
    }

    fn is_possible(self, latest: UnixMicros) -> bool {
        uuidv7::Id(*self.as_bytes()).time().is_some_and(|time| time <= latest)
    }
}

/// The reason why a public form is not read.
enum Unreadable {
    Prefix,
    Text(Error),
    /// A UUID that is no public form.
    Uuid,
    Version(Version),
    /// The decrypted number is no ID.
    NotAnId,
}

impl Unreadable {
    fn report(self, id_type: &str, prefix: &[u8], form: &[u8]) -> Report {
        let detail = match self {
            Self::Prefix => format!("It does not begin with \"{}_\".", quoted(prefix)),
            Self::Text(Error::TextEmpty) => "There is nothing after the prefix.".into(),
            Self::Text(Error::TextCharacter { position }) => {
                format!("Character {} after the prefix is not a digit of base 62.", position + 1)
            }
            Self::Text(error) => text_detail("The part after the prefix", error),
            Self::Uuid => "It is not a uuid of version 8 that holds the version of a key.".into(),
            Self::Version(version) => {
                let (version, retired) = (version.character(), public_keys::retired());
                match retired.iter().any(|retired| retired.character() == version) {
                    true => format!("The key of version \"{version}\" is retired."),
                    false => format!("This server has no key of version \"{version}\"."),
                }
            }
            Self::NotAnId => format!("It does not decrypt to a {id_type} of a time until now."),
        };
        Report::new(
            Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid public form of a {id_type}: \"{}\"", quoted(form)),
        )
        .detail(detail)
    }
}

/// Returns the latest time of an ID that has a public form now.
fn latest() -> UnixMicros {
    UnixMicros((now().0 / 1000) as i64 + MAX_AHEAD)
}

/// Returns the tweak: the name of the ID type and the prefix.
fn tweak<P: Public>(prefix: &[u8]) -> Vec<u8> {
    [P::NAME.as_bytes(), b":", prefix].concat()
}

/// Ensures that this process knows the server's settings, and that a prefix is valid.
fn check(prefix: &[u8]) -> Result<(), Report> {
    guc::ensure_known()?;
    match public_form::is_prefix(prefix) {
        true => Ok(()),
        false => Err(Report::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid prefix of a public form: \"{}\"", quoted(prefix)),
        )
        .detail(format!(
            "A prefix has at most {MAX_PREFIX_LEN} letters, digits, underscores and hyphens, of \
             ASCII."
        ))),
    }
}

/// Ensures that an ID is one that can be read again from its public form.
fn check_id<P: Public>(id: P) -> Result<(), Report> {
    match id.is_possible(latest()) {
        true => Ok(()),
        false => Err(Report::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("this {} has no public form", P::NAME),
        )
        .detail("It has no time, or one that is more than a day after the clock.")),
    }
}

fn to_text<P: Public>(id: P, prefix: &[u8]) -> Result<String, Report> {
    check(prefix)?;
    check_id(id)?;
    let text = public_keys::with_keys(|keys| {
        let encrypted = P::FORM.in_text.encrypt(&keys[0], &tweak::<P>(prefix), id.number());
        P::FORM.text(keys[0].version, encrypted)
    })?;
    let separator = if prefix.is_empty() { "" } else { "_" };
    Ok(format!("{}{separator}{}", String::from_utf8_lossy(prefix), text.as_str()))
}

fn of_text<P: Public>(text: &[u8], prefix: &[u8]) -> Result<P, Report> {
    check(prefix)?;
    let unreadable = |reason: Unreadable| reason.report(P::NAME, prefix, text);
    let last = match prefix {
        b"" => Some(text),
        prefix => text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(b"_")),
    };
    let last = last.ok_or_else(|| unreadable(Unreadable::Prefix))?;
    let read = P::FORM.read_text(last);
    let (version, encrypted) = read.map_err(|error| unreadable(Unreadable::Text(error)))?;
    let decrypted = public_keys::with_keys(|keys| {
        let key = keys.iter().find(|key| key.version == version)?;
        Some(P::FORM.in_text.decrypt(key, &tweak::<P>(prefix), encrypted))
    })?;
    let decrypted = decrypted.ok_or_else(|| unreadable(Unreadable::Version(version)))?;
    let id = P::of_number(decrypted);
    id.is_possible(latest()).then_some(id).ok_or_else(|| unreadable(Unreadable::NotAnId))
}

fn no_room(id_type: &str) -> Report {
    Report::new(
        Code::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("a {id_type} has no public form as a uuid"),
    )
    .detail(format!("It has more than the {UUID_BITS} free bits of a uuid of version 8."))
    .hint(format!("Call {id_type}_to_public and {id_type}_from_public."))
}

fn to_uuid<P: Public>(id: P, prefix: &[u8]) -> Result<Uuid, Report> {
    check(prefix)?;
    let domain = P::FORM.in_uuid.ok_or_else(|| no_room(P::NAME))?;
    check_id(id)?;
    public_keys::with_keys(|keys| {
        let encrypted = domain.encrypt(&keys[0], &tweak::<P>(prefix), id.number());
        Uuid::from_bytes(P::FORM.uuid(keys[0].version, encrypted))
    })
}

/// Reads a UUID. One without the version of its key is tried with each key, in the order of the
/// file, until the time of the ID is possible.
fn of_uuid<P: Public>(uuid: Uuid, prefix: &[u8]) -> Result<P, Report> {
    check(prefix)?;
    let domain = P::FORM.in_uuid.ok_or_else(|| no_room(P::NAME))?;
    let unreadable =
        |reason: Unreadable| reason.report(P::NAME, prefix, uuid.to_string().as_bytes());
    let read = P::FORM.read_uuid(*uuid.as_bytes());
    let (version, encrypted) = read.ok_or_else(|| unreadable(Unreadable::Uuid))?;
    let latest = latest();
    let decrypt = |key: &Key| {
        let decrypted = domain.decrypt(key, &tweak::<P>(prefix), encrypted);
        P::FORM.id_in_uuid(decrypted).map(P::of_number).filter(|id| id.is_possible(latest))
    };
    public_keys::with_keys(|keys| {
        let of_version = |key: &&Key| version.is_none_or(|version| key.version == version);
        let mut keys = keys.iter().filter(of_version).peekable();
        match (version, keys.peek()) {
            (Some(version), None) => Err(unreadable(Unreadable::Version(version))),
            _ => keys.find_map(decrypt).ok_or_else(|| unreadable(Unreadable::NotAnId)),
        }
    })?
}

/// Exports the functions of an ID type.
macro_rules! functions {
    ($($Type:ident: $to_public:ident $from_public:ident $to_public_uuid:ident $from_public_uuid:ident)*) => {$(
        // Texts come as bytes. In a database that is not in UTF-8 they need not be a str.
        #[pg_extern(sql = false)]
        fn $to_public(id: $Type, prefix: &[u8]) -> String {
            to_text(id, prefix).or_raise()
        }

        #[pg_extern(sql = false)]
        fn $from_public(text: &[u8], prefix: &[u8]) -> $Type {
            of_text(text, prefix).or_raise()
        }

        #[pg_extern(sql = false)]
        fn $to_public_uuid(id: $Type, prefix: &[u8]) -> Uuid {
            to_uuid(id, prefix).or_raise()
        }

        #[pg_extern(sql = false)]
        fn $from_public_uuid(uuid: Uuid, prefix: &[u8]) -> $Type {
            of_uuid(uuid, prefix).or_raise()
        }
    )*};
}

functions! {
    i64: flake_to_public flake_from_public flake_to_public_uuid flake_from_public_uuid
    Sno: sno_to_public sno_from_public sno_to_public_uuid sno_from_public_uuid
    Flake128: flake128_to_public flake128_from_public flake128_to_public_uuid flake128_from_public_uuid
    Guid: guid_to_public guid_from_public guid_to_public_uuid guid_from_public_uuid
    GuidLocal: guid_local_to_public guid_local_from_public guid_local_to_public_uuid guid_local_from_public_uuid
    UniqueId: uniqueid_to_public uniqueid_from_public uniqueid_to_public_uuid uniqueid_from_public_uuid
    Uuid: uuidv7_to_public uuidv7_from_public uuidv7_to_public_uuid uuidv7_from_public_uuid
}

/// Returns the versions of the keys of this process, in the order of the file.
#[pg_extern(sql = false)]
fn flakeid_public_key_versions()
-> TableIterator<'static, (name!(version, String), name!(encrypts, bool))> {
    guc::ensure_known().or_raise();
    let versions = public_keys::versions().into_iter().enumerate();
    TableIterator::new(versions.map(|(index, version)| (version.character().into(), index == 0)))
}

/// Returns a line for the file of keys: a version that the file does not have, and a new key.
#[pg_extern(sql = false)]
fn flakeid_new_public_key() -> String {
    let used = [public_keys::versions(), public_keys::retired()].concat();
    // The first key of a file gets the version 1.
    let versions = Version::all().skip(1).chain(Version::all().take(1));
    let Some(version) = versions.into_iter().find(|version| !used.contains(version)) else {
        Report::wrong_state("each version has a key already")
            .hint("Remove lines of retired keys whose public forms are no longer in use.")
            .raise()
    };
    let mut key = Zeroizing::new([0; 32]);
    if !random::fill(key.as_mut()) {
        Report::new(Code::ERRCODE_INTERNAL_ERROR, "could not generate random values").raise();
    }
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {digits}", version.character())
}
