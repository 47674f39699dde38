// Installs the packages of package-lock.json unless they are already installed.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run, say } from './project.mjs';

/** Resolves to false if the installation fails. */
export async function ensureDependencies() {
  const locked = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  if (installed && isSatisfied(locked ?? {}, installed)) return true;
  say('installing dependencies');
  return npm([locked ? 'ci' : 'install', '--include=dev', '--loglevel=error']);
}

/**
 * Compares npm's own list of installed packages with the lock file. Unlike a date or a stamp, this detects a manual `npm ci`
 * and an interrupted one. Packages for other platforms may be missing.
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

/** Runs the npm that called this script, else the one on the PATH. */
function npm(args) {
  const caller = process.env.npm_execpath;
  return caller && path.basename(caller) === 'npm-cli.js'
    ? run(process.execPath, [caller, ...args])
    : run('npm', args);
}
