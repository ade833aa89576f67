"""The public form of IDs in application code: the same texts and UUIDs as flakeid's SQL functions.

Needs Python 3.10 and `pip install cryptography`. docs/public-form-algorithm.md describes the algorithm.

An ID is passed as drivers return it: a flake as an int, a uuidv7 as a UUID, and all others as bytes, which
`id::bytea` and binary results have.

    forms = PublicForms(open("/etc/flakeid/public_keys").read())
    text = forms.to_public("flake", 2235727766341312513, "order")
    forms.from_public("flake", text, "order")
"""
import re
import time
import uuid

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# The bits of an ID, and the digits of their greatest number in base 62.
BITS = {"flake": 64, "sno": 80, "flake128": 128, "guid": 96, "guid_local": 64, "uniqueid": 64, "uuidv7": 122}
LENGTHS = {64: 11, 80: 14, 96: 17, 122: 21, 128: 22}

MS_OF_2010 = 1_262_304_000_000
DAY_MS = 86_400_000

VERSION_8 = 8 << 76 | 2 << 62
VERSION_7 = 7 << 76 | 2 << 62


class InvalidPublicForm(ValueError):
    """The text or UUID is not the public form of an ID."""


def ff1(key, bits, tweak, number, decrypt=False):
    """Permute the numbers of an even count of bits with FF1 in radix 2 (NIST SP 800-38G, algorithms 7 and 8)."""
    half = bits // 2
    mask = (1 << half) - 1
    half_bytes = -(-half // 8)
    used_bytes = 4 * -(-half_bytes // 4) + 4
    p = (bytes([1, 2, 1, 0, 0, 2, 10, half])
         + bits.to_bytes(4, "big") + len(tweak).to_bytes(4, "big"))
    zeros = bytes((-len(tweak) - half_bytes - 1) % 16)

    def round_number(index, other):
        q = tweak + zeros + bytes([index]) + other.to_bytes(half_bytes, "big")
        # The standard's PRF is the last block of CBC with zeros as the initialization vector.
        encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
        mac = encryptor.update(p + q)[-16:]
        return int.from_bytes(mac[:used_bytes], "big")

    a, b = number >> half, number & mask
    if decrypt:
        for index in reversed(range(10)):
            a, b = (b - round_number(index, a)) & mask, a
    else:
        for index in range(10):
            a, b = b, (a + round_number(index, b)) & mask
    return a << half | b


def with_version(bits, version):
    """Put the version and the variant of a UUID between 122 bits."""
    number = bits >> 74 << 80 | (bits >> 62 & 0xFFF) << 64 | bits & (1 << 62) - 1 | version
    return uuid.UUID(int=number)


def without_version(value):
    """Return the 122 bits of a UUID beside its version and its variant."""
    number = value.int
    return number >> 80 << 74 | (number >> 64 & 0xFFF) << 62 | number & (1 << 62) - 1


def number_of(id_type, value):
    """Return the bits of an ID as a number."""
    match id_type:
        case "flake":
            return value & (1 << 64) - 1
        case "uuidv7":
            if value.int & 0xF << 76 | value.int & 3 << 62 != VERSION_7:
                raise ValueError(f"not a uuidv7: {value}")
            return without_version(value)
        case _:
            return int.from_bytes(value, "big")


def value_of(id_type, number):
    match id_type:
        case "flake":
            return number
        case "uuidv7":
            return with_version(number, VERSION_7)
        case _:
            return number.to_bytes(BITS[id_type] // 8, "big")


def time_of(id_type, number, epoch_ms):
    """Return the milliseconds since 1970 of an ID. A guid can be of either clock: the earlier time counts."""
    match id_type:
        case "flake":
            return (number >> 22) + epoch_ms
        case "sno":
            return (number >> 41) * 4 + MS_OF_2010
        case "flake128":
            return number >> 64
        case "uuidv7":
            return number >> 74
        case "uniqueid":
            ticks = number >> 22
            in_order = number >> 12 & 1
            return ticks if in_order else int(f"{ticks:042b}"[::-1], 2)
        case "guid_local":
            ticks = number >> 14 & (1 << 47) - 1
        case "guid":
            fine = 18 + (number >> 93)
            coarse = number >> 46 + fine & (1 << 47 - fine) - 1
            ticks = coarse << fine | number >> 14 & (1 << fine) - 1
    # A tick of 2^17 ns. The inverse clock counts down.
    return (min(ticks, (1 << 47) - 1 - ticks) << 17) // 1_000_000


class PublicForms:
    """Writes and reads public forms with the keys of a file, of which the first one encrypts.

    `epoch_ms` is the server's `flakeid.epoch`, in milliseconds since 1970.
    """

    def __init__(self, key_file, epoch_ms=MS_OF_2010):
        self.keys = {}
        versions = set()
        for line in filter(None, map(str.strip, key_file.splitlines())):
            if line.startswith("#"):
                continue
            found = re.fullmatch(r"([0-9A-Za-z])[ \t]+(?:(retired)|([0-9A-Fa-f]{64}))", line)
            if not found or found[1] in versions:
                raise ValueError("a line of the file is not a version and a key")
            versions.add(found[1])
            if not found[2]:
                self.keys[found[1]] = bytes.fromhex(found[3])
        if not self.keys:
            raise ValueError("the file has no key")
        self.epoch_ms = epoch_ms

    def to_public(self, id_type, value, prefix=""):
        """Return the text of an ID."""
        bits = BITS[id_type]
        number = self._possible_number(id_type, value)
        version, key = next(iter(self.keys.items()))
        number = ff1(key, bits, self._tweak(id_type, prefix), number)
        digits = ""
        for _ in range(LENGTHS[bits]):
            number, digit = divmod(number, 62)
            digits = DIGITS[digit] + digits
        return (prefix + "_" if prefix else "") + version + digits

    def from_public(self, id_type, text, prefix=""):
        """Return the ID of a text."""
        bits = BITS[id_type]
        tweak = self._tweak(id_type, prefix)
        before = prefix + "_" if prefix else ""
        if not text.startswith(before):
            raise InvalidPublicForm(f"without the prefix {prefix}")
        last = text[len(before):]
        if not re.fullmatch(f"[0-9A-Za-z]{{{1 + LENGTHS[bits]}}}", last):
            raise InvalidPublicForm("the length or a character is wrong")
        number = 0
        for digit in last[1:]:
            number = number * 62 + DIGITS.index(digit)
        if number >> bits:
            raise InvalidPublicForm("the number is too large")
        if last[0] not in self.keys:
            raise InvalidPublicForm("no key has this version")
        number = ff1(self.keys[last[0]], bits, tweak, number, decrypt=True)
        if not self._is_possible(id_type, number):
            raise InvalidPublicForm("it decrypts to no ID")
        return value_of(id_type, number)

    def to_public_uuid(self, id_type, value, prefix=""):
        """Return the UUID of an ID."""
        bits = self._bits_in_uuid(id_type)
        number = self._possible_number(id_type, value)
        version, key = next(iter(self.keys.items()))
        number = ff1(key, bits, self._tweak(id_type, prefix), number)
        if bits == 116:
            number |= DIGITS.index(version) << 116
        return with_version(number, VERSION_8)

    def from_public_uuid(self, id_type, value, prefix=""):
        """Return the ID of a UUID."""
        bits = self._bits_in_uuid(id_type)
        tweak = self._tweak(id_type, prefix)
        if value.int & 0xF << 76 | value.int & 3 << 62 != VERSION_8:
            raise InvalidPublicForm("not a UUID of version 8")
        number = without_version(value)
        if bits == 116:
            version = number >> 116
            keys = [self.keys[DIGITS[version]]] if version < 62 and DIGITS[version] in self.keys else []
        else:
            keys = self.keys.values()
        for key in keys:
            decrypted = ff1(key, bits, tweak, number & (1 << bits) - 1, decrypt=True)
            if not decrypted >> BITS[id_type] and self._is_possible(id_type, decrypted):
                return value_of(id_type, decrypted)
        raise InvalidPublicForm("no key decrypts it to an ID")

    def _bits_in_uuid(self, id_type):
        if id_type == "flake128":
            raise ValueError("a flake128 has no public form as a UUID")
        return 122 if id_type == "uuidv7" else 116

    def _tweak(self, id_type, prefix):
        if not re.fullmatch("[0-9A-Za-z_-]{0,63}", prefix):
            raise ValueError(f"invalid prefix: {prefix}")
        return f"{id_type}:{prefix}".encode("ascii")

    def _possible_number(self, id_type, value):
        number = number_of(id_type, value)
        if not self._is_possible(id_type, number):
            raise ValueError(f"this {id_type} has no public form")
        return number

    def _is_possible(self, id_type, number):
        """Return whether an ID can have been generated until now, or a day ahead of this clock."""
        if id_type == "flake" and number >> 63:
            return False
        return time_of(id_type, number, self.epoch_ms) <= time.time() * 1000 + DAY_MS
