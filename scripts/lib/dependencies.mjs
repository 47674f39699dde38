// Installs what package-lock.json asks for, where it is not installed already.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run, say } from './project.mjs';

/** Resolves to whether everything is installed. */
export async function ensureDependencies() {
  const locked = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  if (installed && isSatisfied(locked ?? {}, installed)) return true;
  say('installing dependencies');
  return npm([locked ? 'ci' : 'install', '--include=dev', '--loglevel=error']);
}

/**
 * npm leaves a list of what it installed. Compared with what is locked, it tells more than a date or a stamp of our
 * own would: also a `npm ci` by hand counts, and an interrupted one does not. A package for other platforms may be
 * missing.
 */
function isSatisfied(locked, installed) {
  return Object.entries(locked).every(
    ([where, { version, optional, devOptional }]) =>
      where === '' ||
      (where in installed ? installed[where].version === version : optional === true || devOptional === true),
  );
}

function readPackages(file) {
  const absolute = path.join(ROOT, file);
  return existsSync(absolute) ? JSON.parse(readFileSync(absolute, 'utf8')).packages : undefined;
}

/** The npm that called this script, or else the one on the PATH. */
function npm(args) {
  const caller = process.env.npm_execpath;
  return caller && path.basename(caller) === 'npm-cli.js'
    ? run(process.execPath, [caller, ...args])
    : run('npm', args);
}
