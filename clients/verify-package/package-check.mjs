// What makes an archive a package of the store: its manifest, and files and components with the right digests.
import { createHash } from 'node:crypto';
import { Fault, filesOf, quoted } from './archive.mjs';

const MANIFEST = 'manifest.json';
const MANIFEST_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum number of files, and therefore of components. */
const ENTRIES_MAX = 10_000;

/** The members of a manifest that have only one value so far. */
const FIXED = { schema_version: 1, adapter: 'native', adapter_version: 1, format: 'tar+gzip' };

const isText = (value) => typeof value === 'string' && value !== '';
const isSize = (value) => Number.isSafeInteger(value) && value >= 0;
const isDigest = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a package in constant memory. Returns its manifest and the number of its files, and passes each fault to `report`.
 * Throws a Fault where reading on makes no sense.
 */
export async function checkPackage(chunks, report) {
  let manifest = null;
  let listed = new Map();
  let order = null;
  let count = 0;
  for await (const file of filesOf(chunks)) {
    count += 1;
    if (manifest === null) {
      manifest = await readManifest(file);
      listed = new Map(manifest.files.map((one) => [one.path, one]));
      order = listed.keys();
      checkComponents(manifest, report);
      continue;
    }
    const entry = listed.get(file.path);
    if (!entry) {
      report(quoted(file.path), 'is not listed in the manifest');
      continue;
    }
    const expected = order?.next().value;
    if (order && expected !== file.path) {
      report(quoted(file.path), `is out of order. The manifest lists ${quoted(expected)} next`);
      order = null; // one report of the order is enough
    }
    await checkFile(file, entry, report);
    listed.delete(file.path);
  }
  if (manifest === null) throw new Fault(MANIFEST, 'is missing');
  for (const path of listed.keys()) report(quoted(path), 'is missing from the archive');
  return { manifest, file_count: count };
}

async function checkFile(file, entry, report) {
  if (file.size !== entry.size_bytes) {
    report(quoted(file.path), `has ${file.size} bytes. The manifest says ${entry.size_bytes}`);
    return;
  }
  const hash = createHash('sha256');
  for await (const piece of file.content) hash.update(piece);
  const digest = hash.digest('hex');
  if (digest !== entry.sha256) {
    report(quoted(file.path), `has the SHA-256 ${digest}. The manifest says ${entry.sha256}`);
  }
}

async function readManifest(file) {
  if (file.path !== MANIFEST)
    throw new Fault(MANIFEST, `must be the first file, but the first file is ${quoted(file.path)}`);
  if (file.size > MANIFEST_BYTES_MAX) throw malformed(`has more than ${MANIFEST_BYTES_MAX} bytes`);
  const parts = [];
  for await (const piece of file.content) parts.push(piece);
  const bytes = Buffer.concat(parts);
  let manifest;
  try {
    manifest = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw malformed('is not JSON');
  }
  checkShape(manifest);
  // One form only, so that no two readers understand duplicate members or invalid UTF-8 in different ways.
  if (!isCanonical(manifest, bytes)) throw malformed('is not in the canonical form of JSON (RFC 8785)');
  return manifest;
}

function isCanonical(value, bytes) {
  try {
    return Buffer.from(canonical(value)).equals(bytes);
  } catch (error) {
    if (error instanceof RangeError) return false; // nested too deeply
    throw error;
  }
}

const malformed = (what) => new Fault(MANIFEST, what);

function checkShape(manifest) {
  if (!isObject(manifest)) throw malformed('is not an object');
  for (const [member, value] of Object.entries(FIXED)) {
    if (manifest[member] !== value) throw malformed(`must have ${member} ${JSON.stringify(value)}`);
  }
  const { root, components, files } = manifest;
  if (!isText(root)) throw malformed('must have root, the key of a component');
  const areComponents =
    Array.isArray(components) &&
    components.length <= ENTRIES_MAX &&
    components.every(
      (one) =>
        isObject(one) &&
        [one.key, one.kind, one.name].every(isText) &&
        (one.parent_key === null || isText(one.parent_key)),
    );
  if (!areComponents) throw malformed('must have components, each with key, kind, name and parent_key');
  const areFiles =
    Array.isArray(files) &&
    files.length <= ENTRIES_MAX &&
    files.every((one) => isObject(one) && isText(one.path) && isSize(one.size_bytes) && isDigest(one.sha256));
  if (!areFiles) throw malformed('must have files, each with path, size_bytes and sha256');
  if (new Set(files.map((one) => one.path)).size !== files.length) throw malformed('lists a file twice');
}

/** Checks that keys are the digests of their files, that each file is in a component, and that parents and root exist. */
function checkComponents({ root, components, files }, report) {
  const byKey = new Map(components.map((one) => [one.key, one]));
  if (byKey.size !== components.length) report(MANIFEST, 'lists a component twice');
  if (!byKey.has(root)) report(MANIFEST, `has the root ${quoted(root)}, which is not a component`);
  const filesIn = new Map();
  for (const component of components) {
    const [, directory] = /^([^/@]+\/[^/@]+)@sha256:[0-9a-f]{64}$/.exec(component.key) ?? [];
    if (directory === undefined) {
      report(quoted(component.key), 'is not a component key, such as skills/name@sha256:…');
    } else if (filesIn.has(directory)) {
      report(quoted(component.key), 'is in the same directory as another component');
    } else {
      filesIn.set(directory, { component, files: [] });
    }
    checkParent(component, root, byKey, report);
  }
  for (const file of files) {
    const [directory] = /^[^/]+\/[^/]+(?=\/)/.exec(file.path) ?? [];
    const place = filesIn.get(directory);
    if (place) place.files.push({ path: file.path.slice(directory.length + 1), sha256: file.sha256 });
    else report(quoted(file.path), 'is in no component');
  }
  for (const { component, files: own } of filesIn.values()) {
    const digest = digestOf(own);
    if (own.length === 0) report(quoted(component.key), 'has no files');
    else if (!component.key.endsWith(`@sha256:${digest}`)) {
      report(
        quoted(component.key),
        `has files with the digest ${digest}, which is not the digest in this key`,
      );
    }
  }
}

function checkParent({ key, parent_key }, root, byKey, report) {
  if (parent_key === null) {
    if (key !== root) report(quoted(key), 'has no parent and is not the root');
    return;
  }
  if (key === root) {
    report(quoted(key), 'is the root and has a parent');
  } else if (!byKey.has(parent_key)) {
    report(quoted(key), `has the parent ${quoted(parent_key)}, which is not a component`);
  } else {
    const seen = new Set([key]);
    for (let next = parent_key; byKey.has(next); next = byKey.get(next).parent_key) {
      if (seen.has(next)) return report(quoted(key), 'has parents that form a cycle');
      seen.add(next);
    }
  }
}

/**
 * The digest of a component: SHA-256 over its files in the order of the bytes of their paths. Each adds the length of its
 * path in UTF-8 (four bytes, big-endian), the path, and the SHA-256 of its content.
 */
function digestOf(files) {
  const hash = createHash('sha256');
  const named = files.map(({ path, sha256 }) => ({ name: Buffer.from(path), sha256 }));
  for (const { name, sha256 } of named.sort((one, other) => Buffer.compare(one.name, other.name))) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    hash.update(length).update(name).update(sha256, 'hex');
  }
  return hash.digest('hex');
}

/** RFC 8785: no whitespace, members sorted by the UTF-16 code units of their names. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}
