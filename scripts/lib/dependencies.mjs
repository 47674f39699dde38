// Installs the packages of a package-lock.json unless they are already installed.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run, say } from './project.mjs';

/**
 * Installs what running and building need, and with `dev` also what tests and lint need. Never removes the packages of
 * tests and lint. Resolves to false if the installation fails.
 */
export async function ensureDependencies({ dev = false, folder = '.' } = {}) {
  const locked = readPackages(folder, 'package-lock.json');
  const installed = readPackages(folder, 'node_modules/.package-lock.json');
  if (installed && isSatisfied(locked ?? {}, installed, dev)) return true;
  say('installing dependencies');
  const wantsDev = dev || Object.values(installed ?? {}).some((one) => one.dev);
  return npm([
    ...['--prefix', folder, locked ? 'ci' : 'install', wantsDev ? '--include=dev' : '--omit=dev'],
    ...['--no-audit', '--no-fund', '--loglevel=error'],
  ]);
}

/**
 * Compares npm's own list of installed packages with the lock file. Unlike a date or a stamp, this detects a manual `npm ci`
 * and an interrupted one. Optional packages may be missing, because they may be for other platforms, but not those that
 * building needs.
 */
function isSatisfied(locked, installed, wantsDev) {
  const building = locked['']?.optionalDependencies ?? {};
  return Object.entries(locked).every(([where, { version, dev, optional, devOptional }]) => {
    if (where === '' || (dev && !wantsDev)) return true;
    if (where in installed) return installed[where].version === version;
    return Boolean(optional || devOptional) && !(where.replace('node_modules/', '') in building);
  });
}

function readPackages(folder, file) {
  const absolute = path.join(ROOT, folder, file);
  return existsSync(absolute) ? JSON.parse(readFileSync(absolute, 'utf8')).packages : undefined;
}

/** Runs the npm that called this script, else the one on the PATH. */
function npm(args) {
  const caller = process.env.npm_execpath;
  return caller && path.basename(caller) === 'npm-cli.js'
    ? run(process.execPath, [caller, ...args])
    : run('npm', args);
}
