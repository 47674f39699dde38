#!/usr/bin/env node
// Verifies a package of the store, offline. See README.md.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { Fault, filesOf, quoted } from './archive.mjs';
import { checkPackage } from './package-check.mjs';

const USAGE = `Usage: verify-package <package.tar.gz> [options]

Checks that a package of the store is complete and consistent. To check who published it, add --item and --jwks.

  --item <item.json>     also check that the store lists this package. The file is the response of
                         GET /store/v1/items/{store_item_id}
  --jwks <jwks.json>     also check the publisher's signature, which is in item.json. Requires --item. The file
                         contains the public keys, and is the response of GET /.well-known/jwks.json
  --extract <directory>  write the files to this new directory if all checks succeed
  --json                 print the result as JSON
  --help                 print this text

Exit codes: 0 all checks succeeded, 1 a check failed, 2 wrong usage or an unreadable file.
`;

/** Largest number of faults to print. */
const FAULTS_MAX = 100;

const VERIFIED = 0;
const NOT_VERIFIED = 1;
const WRONG_USAGE = 2;

/** A wrong argument or an unreadable file. */
class UsageError extends Error {}

const OPTIONS = {
  item: { type: 'string' },
  jwks: { type: 'string' },
  extract: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function readArguments() {
  let parsed;
  try {
    parsed = parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${error.message}\n\n${USAGE}`);
  }
  const { values, positionals } = parsed;
  if (values.help) return { help: true };
  if (positionals.length !== 1) throw new UsageError(USAGE);
  if (values.jwks !== undefined && values.item === undefined) {
    throw new UsageError('--jwks requires --item, because the item contains the signature.');
  }
  return { ...values, file: positionals[0] };
}

async function readJson(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file} cannot be read as JSON: ${error.message}`);
  }
}

async function checkReadable(file) {
  const found = await stat(file).catch((error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  if (!found.isFile()) throw new UsageError(`${file} is not a file.`);
}

async function checkNew(directory) {
  const found = await stat(directory).catch(() => null);
  if (found) throw new UsageError(`${directory} already exists. Name a new directory.`);
}

/** Checks a package, and adds its size and digest even if it is damaged. */
async function measure(file, report) {
  const hash = createHash('sha256');
  let size = 0;
  const chunks = async function* () {
    for await (const chunk of createReadStream(file)) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  };
  try {
    const checked = await checkPackage(chunks(), report);
    return { ...checked, sha256: hash.digest('hex'), size_bytes: size };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    report(error.where, error.what);
    const whole = createHash('sha256');
    let bytes = 0;
    for await (const chunk of createReadStream(file)) {
      whole.update(chunk);
      bytes += chunk.length;
    }
    return { manifest: null, file_count: null, sha256: whole.digest('hex'), size_bytes: bytes };
  }
}

/** Compares the item with the package. */
function checkItem(item, found, report) {
  if (typeof item?.store_item_id !== 'string' || typeof item.manifest !== 'object') {
    return report(
      'item',
      'is not a response of GET /store/v1/items/{store_item_id}. Save the response, and pass its file as --item',
    );
  }
  for (const member of ['sha256', 'size_bytes', 'file_count']) {
    if (found[member] !== null && item?.[member] !== found[member]) {
      report(
        'item',
        `has the ${member} ${shown(item?.[member])}, but the package has ${shown(found[member])}`,
      );
    }
  }
  if (found.manifest === null) return;
  const { manifest } = found;
  for (const member of ['schema_version', 'adapter', 'adapter_version', 'format']) {
    if (item?.manifest?.[member] !== manifest[member]) {
      report('item', `has a different ${member} in its manifest than the package`);
    }
  }
  const lines = (components, kindOf) =>
    new Set(components.map((one) => JSON.stringify([one?.key, kindOf(one), one?.parent_key ?? null])));
  const own = lines(manifest.components, (one) => one.kind);
  const given = item?.manifest?.components;
  const described = lines(Array.isArray(given) ? given : [], (one) => one?.source?.kind);
  for (const line of own) {
    if (!described.has(line))
      report('item', `lacks the component ${shown(JSON.parse(line)[0])}, which the package has`);
  }
  for (const line of described) {
    if (!own.has(line)) {
      report('item', `has the component ${shown(JSON.parse(line)[0])}, which the package lacks`);
    }
  }
  const root = manifest.components.find((one) => one.key === manifest.root);
  if (item?.manifest?.root?.kind !== root?.kind)
    report('item', 'has a root of a different kind than the package');
}

const shown = (value) => (typeof value === 'string' ? quoted(value) : quoted(String(value)));

const MEMBERS = {
  store_item_id: (item) => item?.store_item_id,
  release_id: (item) => item?.source?.release_id,
  publisher_org_id: (item) => item?.publisher_org_id,
  sha256: (item) => item?.sha256,
  size_bytes: (item) => item?.size_bytes,
  file_count: (item) => item?.file_count,
};

/**
 * Verifies the signature of an item: a compact JWS (RFC 7515) with Ed25519 (RFC 8037) by a key of the publisher. Its
 * payload must equal the item, and the item was compared with the package. Returns the `kid`, or null with a report.
 */
function checkSignature(item, jwks, report) {
  const fail = (what) => (report('signature', what), null);
  if (typeof item?.signature !== 'string') return fail('is missing. The item is not signed');
  const parts = item.signature.split('.');
  const [header, payload, signature] = parts.map((part) => Buffer.from(part, 'base64url'));
  const isStrict = [header, payload, signature].every(
    (part, at) => part?.toString('base64url') === parts[at],
  );
  if (parts.length !== 3 || !isStrict) return fail('is not a compact JWS');
  const [head, claims] = [header, payload].map(objectIn);
  if (!head || !claims) return fail('is not a compact JWS with a JSON payload');
  if (head.alg !== 'EdDSA') return fail(`has the algorithm ${shown(head.alg)}. Only EdDSA is accepted`);
  if (head.typ !== 'store-release+jws')
    return fail(`has the type ${shown(head.typ)}. Only store-release+jws is accepted`);
  if ('crit' in head || 'b64' in head) return fail('has extensions that are not supported');
  const keys = Array.isArray(jwks?.keys) ? jwks.keys.filter((key) => key?.kid === head.kid) : [];
  if (typeof head.kid !== 'string') return fail('does not name the key that made it');
  if (keys.length === 0) return fail(`was made with the key ${shown(head.kid)}, which is not in the key set`);
  if (keys.length > 1) {
    return fail(`was made with the key ${shown(head.kid)}, which is in the key set more than once`);
  }
  const [key] = keys;
  if (key.kty !== 'OKP' || key.crv !== 'Ed25519' || (key.alg ?? 'EdDSA') !== 'EdDSA') {
    return fail(`was made with the key ${shown(head.kid)}, which is not an Ed25519 key`);
  }
  if (!key.org_id || key.org_id !== item.publisher_org_id) {
    return fail(
      `was made with the key ${shown(head.kid)} of ${shown(key.org_id)}, not with a key of the publisher`,
    );
  }
  if (!isSignedBy(key, `${parts[0]}.${parts[1]}`, signature)) {
    return fail(`does not match the key ${shown(head.kid)}`);
  }
  let isSame = true;
  for (const [member, read] of Object.entries(MEMBERS)) {
    if (claims[member] !== undefined && claims[member] === read(item)) continue;
    isSame = false;
    report(
      'signature',
      `is for the ${member} ${shown(claims[member])}, but the item has ${shown(read(item))}`,
    );
  }
  return isSame ? head.kid : null;
}

function objectIn(bytes) {
  try {
    const value = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

function isSignedBy({ kty, crv, x }, text, signature) {
  try {
    const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
    return verify(null, Buffer.from(text), key, signature);
  } catch {
    return false;
  }
}

/** Writes the files of a verified package. Checks them again, in case the file has changed. */
async function extract(file, { manifest }, directory) {
  const listed = new Map(manifest.files.map((one) => [one.path, one.sha256]));
  await mkdir(directory);
  try {
    for await (const { path: name, content } of filesOf(createReadStream(file))) {
      const hash = createHash('sha256');
      const hashed = async function* () {
        for await (const piece of content) {
          hash.update(piece);
          yield piece;
        }
      };
      const target = path.join(directory, ...name.split('/'));
      await mkdir(path.dirname(target), { recursive: true });
      await pipeline(hashed(), createWriteStream(target, { flags: 'wx', mode: 0o644 }));
      if (name !== 'manifest.json' && hash.digest('hex') !== listed.get(name)) {
        throw new Fault(quoted(name), 'has changed since it was checked');
      }
    }
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    if (error instanceof Fault) throw error;
    throw new UsageError(`All checks succeeded, but the package cannot be extracted: ${error.message}`);
  }
}

async function run() {
  const options = readArguments();
  if (options.help) {
    process.stdout.write(USAGE);
    return VERIFIED;
  }
  await checkReadable(options.file);
  if (options.extract !== undefined) await checkNew(options.extract);
  const item = options.item === undefined ? undefined : await readJson(options.item);
  const jwks = options.jwks === undefined ? undefined : await readJson(options.jwks);
  const faults = [];
  const report = (where, what) => faults.push({ where, what });
  const found = await measure(options.file, report);
  if (item !== undefined) checkItem(item, found, report);
  const kid = jwks === undefined ? null : checkSignature(item, jwks, report);
  if (faults.length === 0 && options.extract !== undefined) {
    try {
      await extract(options.file, found, options.extract);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      report(error.where, error.what);
    }
  }
  print(options, found, faults, kid);
  return faults.length === 0 ? VERIFIED : NOT_VERIFIED;
}

/** The subjects of sentences about faults that are not in one file. */
const SUBJECTS = { archive: 'The archive', item: 'The item', signature: 'The signature' };

const SIGNATURE_UNCHECKED = 'The signature was not checked, so it is unknown who published the package.';

/** Returns how far the package was checked, and how to check the rest. */
function outcomeOf({ item, jwks }) {
  if (jwks !== undefined) return { outcome: 'is verified' };
  if (item !== undefined) {
    return {
      outcome: 'is the package of the item',
      advice: `${SIGNATURE_UNCHECKED} To check the signature, add --jwks (see --help).`,
    };
  }
  return {
    outcome: 'is consistent',
    advice: `${SIGNATURE_UNCHECKED} To check the signature, add --item and --jwks (see --help).`,
  };
}

function print(options, found, faults, kid) {
  const { json, file, extract: directory } = options;
  const { manifest, ...measured } = found;
  if (json) {
    const result = { verified: faults.length === 0, package: measured, signed_by: kid, faults };
    say(process.stdout, JSON.stringify(result, null, 2));
  } else if (faults.length > 0) {
    for (const { where, what } of faults.slice(0, FAULTS_MAX)) {
      say(process.stderr, `${SUBJECTS[where] ?? where} ${what}.`);
    }
    if (faults.length > FAULTS_MAX)
      say(process.stderr, `There are ${faults.length - FAULTS_MAX} more faults.`);
    say(process.stderr, `${file} is NOT verified. Do not use it.`);
  } else {
    const { outcome, advice } = outcomeOf(options);
    const files = `${counted(measured.file_count, 'file')} including manifest.json`;
    say(process.stdout, `${file} ${outcome}: ${files}, ${counted(manifest.components.length, 'component')}.`);
    say(process.stdout, `SHA-256 ${measured.sha256}, ${measured.size_bytes} bytes.`);
    if (kid !== null) say(process.stdout, `Signed by the publisher with the key ${kid}.`);
    if (advice !== undefined) say(process.stdout, advice);
    if (directory !== undefined) say(process.stdout, `Extracted to ${directory}.`);
  }
}

/** Prints a text without control characters, which could change what a terminal shows. */
const say = (stream, text) => stream.write(`${text.replace(/[^\P{Cc}\n]/gu, '\uFFFD')}\n`);

try {
  process.exitCode = await run();
} catch (error) {
  // Anything else is a bug, and ends with a stack and the code 1.
  if (!(error instanceof UsageError) && error.syscall === undefined) throw error;
  say(process.stderr, error.message.trimEnd());
  process.exitCode = WRONG_USAGE;
}
