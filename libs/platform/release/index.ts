import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The release of the service that this process runs, such as `0.2.0`: the version in `package.json`. */
export const RELEASE = (
  JSON.parse(readFileSync(path.resolve(__dirname, '../../../../package.json'), 'utf8')) as { version: string }
).version;

/** Returns the message for a process whose release the database does not support. */
export const unsupportedRelease = (release: string, oldest: string, newest: string): string =>
  `This is release ${release}, but release ${newest} has migrated the database, which now requires ${oldest} or newer. Run release ${newest}.`;

/**
 * Compares two releases by precedence (Semantic Versioning 2.0.0, section 11).
 *
 * @returns a negative number if `a` is older than `b`, 0 if both have the same precedence, else a positive number
 */
export function compareReleases(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  const numbers = compareLists(left.numbers, right.numbers);
  // a pre-release, such as 1.0.0-rc.1, is older than its release
  if (numbers !== 0 || !left.labels !== !right.labels) return numbers || (left.labels ? -1 : 1);
  return compareLists(left.labels ?? [], right.labels ?? []);
}

/** Splits a release into its numbers and the labels of a pre-release. Ignores build metadata, which has no precedence. */
function parse(release: string): { numbers: string[]; labels: string[] | undefined } {
  const [, numbers = '', labels] = /^(\d+\.\d+\.\d+)(?:-([\w.-]+))?(?:\+[\w.-]+)?$/.exec(release) ?? [];
  if (numbers === '') throw new Error(`${release} is not a release such as 0.2.0.`);
  return { numbers: numbers.split('.'), labels: labels?.split('.') };
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [i, left] of a.entries()) {
    const right = b[i];
    if (right === undefined) return 1;
    const order = compareIdentifiers(left, right);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Compares numbers by value and texts by code points. A number is older than a text. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOtherNumber) return Number(a) - Number(b);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}
