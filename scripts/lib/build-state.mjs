// The state of dist/: whether it is up to date with the sources, and which of its files no longer have a source.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, runNode, say } from './project.mjs';

/** Everything including tests; the shipped code; the examples, which share no files with it. All are built into dist/. */
export const ALL = 'tsconfig.json';
export const SHIPPED = 'tsconfig.build.json';
export const EXAMPLES = 'tsconfig.examples.json';
const PROJECTS = [ALL, SHIPPED, EXAMPLES];

const DIST = path.join(ROOT, 'dist');
const CLIENT = 'clients/typescript';
const STAMPS = path.join(DIST, '.built.json');
const CLIENT_STAMP = path.join(ROOT, CLIENT, 'dist/.built');
const ALSO_INPUT = [...PROJECTS, 'package.json', 'package-lock.json', 'scripts/build.mjs'];

/** Suffix of the stamp of a build that did not check types. */
const UNCHECKED = ' unchecked';

/**
 * Compiles the project of `config` and the client, unless they are up to date. Resolves to false if that fails. With
 * `checkTypes: false`, does not check the types of the project, so that a start is quick, and accepts a build that did not.
 */
export async function ensureBuilt(config, { checkTypes }) {
  const client = ensureClient();
  if (config === ALL && !(await client)) return false; // tests import its declarations
  return (await Promise.all([client, ensureProject(config, checkTypes)])).every(Boolean);
}

async function ensureProject(config, checkTypes) {
  const stamp = stampOf(config);
  const built = readStamps()[config];
  if (built === stamp || (!checkTypes && built === stamp + UNCHECKED)) return true;
  say('building');
  return runNode('scripts/build.mjs', checkTypes ? [config] : [config, '--no-check']);
}

/** Builds the client unless it is up to date. Resolves to false if that fails. */
export async function ensureClient() {
  if (existsSync(CLIENT_STAMP) && readFileSync(CLIENT_STAMP, 'utf8') === clientStamp()) return true;
  say('building the client');
  return runNode('scripts/build-client.mjs');
}

/** Call before a build of the client. Marks it as unfinished. */
export function beginClient() {
  rmSync(CLIENT_STAMP, { force: true });
}

/** Call after a successful build of the client. */
export function finishClient() {
  writeFileSync(CLIENT_STAMP, clientStamp());
}

/**
 * Call before a build of `config`. Marks the build as unfinished, invalidates incremental builds of other projects whose files
 * this build overwrites, and removes output without a source (a removed test would still run).
 */
export function beginBuild(config) {
  const affected = PROJECTS.filter((project) => sharesFiles(project, config));
  writeStamps(
    Object.fromEntries(Object.entries(readStamps()).filter(([project]) => !affected.includes(project))),
  );
  for (const other of affected) if (other !== config) rmSync(buildInfoFile(other), { force: true });
  removeOrphans(DIST);
}

/** Call after a successful build of `config`. A build of everything includes the other projects. */
export function finishBuild(config, { checkTypes }) {
  const built = config === ALL ? PROJECTS : [config];
  const stamps = built.map((each) => [each, stampOf(each) + (checkTypes ? '' : UNCHECKED)]);
  writeStamps({ ...readStamps(), ...Object.fromEntries(stamps) });
}

const sharesFiles = (one, other) => one === other || one === ALL || other === ALL;

/** Returns the file of TypeScript's incremental build state. */
export function buildInfoFile(config) {
  return path.join(DIST, `.${path.basename(config, '.json')}.tsbuildinfo`);
}

function readStamps() {
  return existsSync(STAMPS) ? JSON.parse(readFileSync(STAMPS, 'utf8')) : {};
}

function writeStamps(stamps) {
  mkdirSync(DIST, { recursive: true });
  writeFileSync(STAMPS, JSON.stringify(stamps));
}

function clientStamp() {
  const names = ['package.json', 'tsconfig.json', 'README.md'].map((name) => path.join(ROOT, CLIENT, name));
  const scripts = [path.join(ROOT, 'scripts/build-client.mjs'), path.join(ROOT, 'package-lock.json')];
  return digestOf([...names, ...scripts, ...filesBelow(path.join(ROOT, CLIENT, 'src')).sort()]);
}

function stampOf(config) {
  const { include, exclude = [] } = JSON.parse(readFileSync(path.join(ROOT, config), 'utf8'));
  const others = exclude.map((folder) => path.join(ROOT, folder) + path.sep);
  const sources = include
    .flatMap((folder) => filesBelow(path.join(ROOT, folder)))
    .filter((file) => !others.some((folder) => file.startsWith(folder)));
  const shipped = (file) => config === ALL || !file.endsWith('.spec.ts');
  const client = config === ALL ? [CLIENT_STAMP] : [];
  return digestOf([
    ...ALSO_INPUT.map((name) => path.join(ROOT, name)),
    ...client,
    ...sources.filter(shipped).sort(),
  ]);
}

function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    if (existsSync(file))
      hash
        .update(`${path.relative(ROOT, file)}\0`)
        .update(readFileSync(file))
        .update('\0');
  }
  return hash.digest('hex');
}

function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !file.includes(`${path.sep}node_modules${path.sep}`)); // of bench/peers
}

function removeOrphans(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) removeOrphans(file);
    else if (!hasSource(file)) rmSync(file);
  }
  if (folder !== DIST && readdirSync(folder).length === 0) rmdirSync(folder);
}

function hasSource(output) {
  const source = path.join(ROOT, path.relative(DIST, output));
  if (/\.(js|js\.map|d\.ts)$/.test(source)) return existsSync(source.replace(/\.(js|js\.map|d\.ts)$/, '.ts'));
  return !source.endsWith('.json') || path.dirname(output) === DIST || existsSync(source);
}
