// The public form of IDs in application code: the same texts and UUIDs as flakeid's SQL functions.
//
// Needs Node.js 18, and no package. docs/public-form-algorithm.md describes the algorithm.
//
// An ID is passed as a BigInt (flake), a string (uuidv7), or a Buffer (all others), which `id::bytea` has.
//
//   const { PublicForms } = require('./public-form.js');
//   const forms = new PublicForms(fs.readFileSync('/etc/flakeid/public_keys', 'latin1'));
//   const text = forms.toPublic('flake', 2235727766341312513n, 'order');
//   forms.fromPublic('flake', text, 'order');
'use strict';
const { createCipheriv } = require('node:crypto');

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

// The bits of an ID, and the digits of their greatest number in base 62.
const BITS = { flake: 64, sno: 80, flake128: 128, guid: 96, guid_local: 64, uniqueid: 64, uuidv7: 122 };
const LENGTHS = { 64: 11, 80: 14, 96: 17, 122: 21, 128: 22 };

const MS_OF_2010 = 1_262_304_000_000;
const DAY_MS = 86_400_000n;

const VERSION_8 = 8n << 76n | 2n << 62n;
const VERSION_7 = 7n << 76n | 2n << 62n;
const VERSION_MASK = 15n << 76n | 3n << 62n;

/** The text or UUID is not the public form of an ID. */
class InvalidPublicForm extends Error {}

const lowest = BigInt.asUintN; // lowest(bits, number)
const bytesOf = (number, length) => Buffer.from(number.toString(16).padStart(2 * length, '0'), 'hex');
const numberOfBytes = (bytes) => BigInt('0x' + bytes.toString('hex'));

/** Permutes the numbers of an even count of bits with FF1 in radix 2 (NIST SP 800-38G, algorithms 7 and 8). */
function ff1(key, bits, tweak, number, decrypt = false) {
  const half = bits / 2;
  const halfBytes = Math.ceil(half / 8);
  const usedBytes = 4 * Math.ceil(halfBytes / 4) + 4;
  const zeros = (16 - (tweak.length + halfBytes + 1) % 16) % 16;

  // P and Q, of which only the last bytes differ between rounds: the number of the round and a half.
  const input = Buffer.alloc(16 + tweak.length + zeros + 1 + halfBytes);
  input.set([1, 2, 1, 0, 0, 2, 10, half]);
  input.writeUInt32BE(bits, 8);
  input.writeUInt32BE(tweak.length, 12);
  input.set(tweak, 16);
  const roundNumber = (index, other) => {
    input[input.length - halfBytes - 1] = index;
    input.set(bytesOf(other, halfBytes), input.length - halfBytes);
    // The standard's PRF is the last block of CBC with zeros as the initialization vector.
    const mac = createCipheriv('aes-256-cbc', key, Buffer.alloc(16)).update(input).subarray(-16);
    return numberOfBytes(mac.subarray(0, usedBytes));
  };

  let [a, b] = [number >> BigInt(half), lowest(half, number)];
  if (decrypt) {
    for (let index = 9; index >= 0; index--) [a, b] = [lowest(half, b - roundNumber(index, a)), a];
  } else {
    for (let index = 0; index < 10; index++) [a, b] = [b, lowest(half, a + roundNumber(index, b))];
  }
  return a << BigInt(half) | b;
}

/** Puts the version and the variant of a UUID between 122 bits. */
function withVersion(bits, version) {
  const number = bits >> 74n << 80n | lowest(12, bits >> 62n) << 64n | lowest(62, bits) | version;
  return bytesOf(number, 16).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Returns the 122 bits of a UUID beside its version and its variant; undefined if these are others. */
function withoutVersion(uuid, version) {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) return undefined;
  const number = BigInt('0x' + uuid.replaceAll('-', ''));
  if ((number & VERSION_MASK) !== version) return undefined;
  return number >> 80n << 74n | lowest(12, number >> 64n) << 62n | lowest(62, number);
}

/** Returns the bits of an ID as a number. */
function numberOf(idType, value) {
  if (idType === 'flake') return lowest(64, value);
  if (idType !== 'uuidv7') return numberOfBytes(value);
  const number = withoutVersion(value, VERSION_7);
  if (number === undefined) throw new RangeError(`not a uuidv7: ${value}`);
  return number;
}

function valueOf(idType, number) {
  if (idType === 'flake') return number;
  if (idType === 'uuidv7') return withVersion(number, VERSION_7);
  return bytesOf(number, BITS[idType] / 8);
}

/** Returns the milliseconds since 1970 of an ID. A guid can be of either clock: the earlier time counts. */
function timeOf(idType, number, epochMs) {
  // Ticks of 2^17 ns. The inverse clock counts down.
  const ofTicks = (ticks) => {
    const inverse = (1n << 47n) - 1n - ticks;
    return ((ticks < inverse ? ticks : inverse) << 17n) / 1_000_000n;
  };
  switch (idType) {
    case 'flake':
      return (number >> 22n) + BigInt(epochMs);
    case 'sno':
      return (number >> 41n) * 4n + BigInt(MS_OF_2010);
    case 'flake128':
      return number >> 64n;
    case 'uuidv7':
      return number >> 74n;
    case 'uniqueid': {
      const ticks = number >> 22n;
      const inOrder = number >> 12n & 1n;
      if (inOrder) return ticks;
      return BigInt('0b' + [...ticks.toString(2).padStart(42, '0')].reverse().join(''));
    }
    case 'guid_local':
      return ofTicks(lowest(47, number >> 14n));
    case 'guid': {
      const fine = 18 + Number(number >> 93n);
      const coarse = lowest(47 - fine, number >> BigInt(46 + fine));
      return ofTicks(coarse << BigInt(fine) | lowest(fine, number >> 14n));
    }
  }
}

/**
 * Writes and reads public forms with the keys of a file, of which the first one encrypts. `epochMs` is the server's
 * `flakeid.epoch`, in milliseconds since 1970.
 */
class PublicForms {
  #keys;
  #epochMs;

  constructor(keyFile, epochMs = MS_OF_2010) {
    this.#keys = new Map();
    const versions = new Set();
    for (const line of keyFile.split('\n').map((line) => line.trim())) {
      if (line === '' || line.startsWith('#')) continue;
      const found = /^([0-9A-Za-z])[ \t]+(?:(retired)|([0-9A-Fa-f]{64}))$/.exec(line);
      if (!found || versions.has(found[1])) throw new Error('a line of the file is not a version and a key');
      versions.add(found[1]);
      if (!found[2]) this.#keys.set(found[1], Buffer.from(found[3], 'hex'));
    }
    if (this.#keys.size === 0) throw new Error('the file has no key');
    this.#epochMs = epochMs;
  }

  /** Returns the text of an ID. */
  toPublic(idType, value, prefix = '') {
    const bits = BITS[idType];
    const tweak = this.#tweak(idType, prefix);
    const [[version, key]] = this.#keys;
    let number = ff1(key, bits, tweak, this.#possibleNumber(idType, value));
    let digits = '';
    for (let i = 0; i < LENGTHS[bits]; i++, number /= 62n) digits = DIGITS[Number(number % 62n)] + digits;
    return (prefix && prefix + '_') + version + digits;
  }

  /** Returns the ID of a text. */
  fromPublic(idType, text, prefix = '') {
    const bits = BITS[idType];
    const tweak = this.#tweak(idType, prefix);
    const before = prefix && prefix + '_';
    if (!text.startsWith(before)) throw new InvalidPublicForm(`without the prefix ${prefix}`);
    const last = text.slice(before.length);
    if (last.length !== 1 + LENGTHS[bits] || !/^[0-9A-Za-z]*$/.test(last)) {
      throw new InvalidPublicForm('the length or a character is wrong');
    }
    const [version, ...digits] = last;
    const encrypted = digits.reduce((number, digit) => number * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
    if (encrypted >> BigInt(bits)) throw new InvalidPublicForm('the number is too large');
    const key = this.#keys.get(version);
    if (!key) throw new InvalidPublicForm('no key has this version');
    const number = ff1(key, bits, tweak, encrypted, true);
    if (!this.#isPossible(idType, number)) throw new InvalidPublicForm('it decrypts to no ID');
    return valueOf(idType, number);
  }

  /** Returns the UUID of an ID. */
  toPublicUuid(idType, value, prefix = '') {
    const bits = this.#bitsInUuid(idType);
    const tweak = this.#tweak(idType, prefix);
    const [[version, key]] = this.#keys;
    const number = ff1(key, bits, tweak, this.#possibleNumber(idType, value));
    return withVersion(bits === 116 ? BigInt(DIGITS.indexOf(version)) << 116n | number : number, VERSION_8);
  }

  /** Returns the ID of a UUID. */
  fromPublicUuid(idType, uuid, prefix = '') {
    const bits = this.#bitsInUuid(idType);
    const tweak = this.#tweak(idType, prefix);
    const number = withoutVersion(uuid, VERSION_8);
    if (number === undefined) throw new InvalidPublicForm('not a UUID of version 8');
    const keys = bits === 116 ? [this.#keys.get(DIGITS[Number(number >> 116n)])] : [...this.#keys.values()];
    for (const key of keys.filter(Boolean)) {
      const decrypted = ff1(key, bits, tweak, lowest(bits, number), true);
      const isId = decrypted >> BigInt(BITS[idType]) === 0n && this.#isPossible(idType, decrypted);
      if (isId) return valueOf(idType, decrypted);
    }
    throw new InvalidPublicForm('no key decrypts it to an ID');
  }

  #bitsInUuid(idType) {
    if (idType === 'flake128') throw new RangeError('a flake128 has no public form as a UUID');
    return idType === 'uuidv7' ? 122 : 116;
  }

  #tweak(idType, prefix) {
    if (prefix.length > 63 || !/^[0-9A-Za-z_-]*$/.test(prefix)) throw new RangeError(`invalid prefix: ${prefix}`);
    return Buffer.from(`${idType}:${prefix}`, 'latin1');
  }

  #possibleNumber(idType, value) {
    const number = numberOf(idType, value);
    if (!this.#isPossible(idType, number)) throw new RangeError(`this ${idType} has no public form`);
    return number;
  }

  /** Returns whether an ID can have been generated until now, or a day ahead of this clock. */
  #isPossible(idType, number) {
    if (idType === 'flake' && number >> 63n) return false;
    return timeOf(idType, number, this.#epochMs) <= BigInt(Date.now()) + DAY_MS;
  }
}

module.exports = { PublicForms, InvalidPublicForm };
