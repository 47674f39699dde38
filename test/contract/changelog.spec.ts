import { readFileSync } from 'node:fs';
import path from 'node:path';

type Version = readonly [major: number, minor: number, patch: number];

interface Release {
  date: string;
  from: Version;
  to: Version;
}

const NUMBER = '(?:0|[1-9]\\d*)';
const VERSION = `(${NUMBER}\\.${NUMBER}\\.${NUMBER})`;
const HEADING = new RegExp(`^## (\\d{4}-\\d{2}-\\d{2}) — API ${VERSION} to ${VERSION}$`);

const read = (file: string): string => readFileSync(path.resolve(file), 'utf8');

const versionOf = (text: string): Version => text.split('.').map(Number) as unknown as Version;

const compare = (a: Version, b: Version): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

const isDay = (date: string): boolean => {
  const time = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
};

/** Returns the releases of a changelog, newest first. Throws if its format is invalid. */
function parseChangelog(text: string): Release[] {
  const headings = text.split('\n').filter((line) => /^##(?!#)/.test(line));
  if (headings.length === 0) throw new Error('There is no release.');
  const releases = headings.map((heading) => {
    const [, date, from, to] = HEADING.exec(heading) ?? [];
    if (!date || !from || !to) throw new Error(`Not a release: ${heading}`);
    if (!isDay(date)) throw new Error(`Not a date: ${heading}`);
    const release = { date, from: versionOf(from), to: versionOf(to) };
    if (compare(release.from, release.to) > 0) throw new Error(`The range runs backwards: ${heading}`);
    return release;
  });
  releases.slice(1).forEach((older, i) => {
    const newer = releases[i]!;
    if (newer.date <= older.date) throw new Error(`${newer.date} is listed before ${older.date}.`);
    if (compare(newer.from, older.to) < 0) throw new Error(`The versions of ${newer.date} run backwards.`);
  });
  return releases;
}

describe('the changelog', () => {
  const GOOD = '# Changelog\n\n## 2026-12-01 — API 0.7.18 to 0.9.11\n\n## 2026-11-20 — API 0.1.0 to 0.7.18\n';

  it('identifies every release by a date and a range of API versions, newest first', () => {
    expect(parseChangelog(read('CHANGELOG.md')).length).toBeGreaterThan(0);
  });

  it('lists the current API version in its newest release', () => {
    const [{ from, to }] = parseChangelog(read('CHANGELOG.md')) as [Release];
    const present = versionOf((JSON.parse(read('package.json')) as { version: string }).version);
    expect(compare(from, present)).toBeLessThanOrEqual(0);
    expect(compare(present, to)).toBeLessThanOrEqual(0);
  });

  it('has one line for each change, under one of four headings', () => {
    const [, ...rest] = read('CHANGELOG.md').split(/^## .*$/m);
    const others = rest
      .join('\n')
      .split('\n')
      .filter((line) => line !== '' && !/^### (?:Added|Changed|Fixed|Removed)$|^- .{1,250}\.$/.test(line));
    expect(others).toEqual([]);
  });

  it('can be read by a program', () => {
    expect(parseChangelog(GOOD)).toEqual([
      { date: '2026-12-01', from: [0, 7, 18], to: [0, 9, 11] },
      { date: '2026-11-20', from: [0, 1, 0], to: [0, 7, 18] },
    ]);
  });

  it.each([
    ['has no release', '# Changelog\n'],
    ['has another heading among the releases', `${GOOD}\n## Unreleased\n`],
    ['has a heading without the space after ##', `${GOOD}\n##2026-11-01 — API 0.0.1 to 0.0.1\n`],
    ['has an invalid date', GOOD.replace('2026-11-20', '2026-11-31')],
    ['has a date in another format', GOOD.replace('2026-11-20', '20 November 2026')],
    ['has a version with two numbers', GOOD.replace('0.7.18 to', '0.7 to')],
    ['has a version with a leading zero', GOOD.replace('0.9.11', '0.09.11')],
    ['has a range that runs backwards', GOOD.replace('0.1.0 to 0.7.18', '0.7.18 to 0.1.0')],
    ['has an older release first', GOOD.replace('2026-12-01', '2026-11-19')],
    ['has two releases on one day', GOOD.replace('2026-12-01', '2026-11-20')],
    ['has a newer release that covers older versions', GOOD.replace('0.7.18 to 0.9.11', '0.7.17 to 0.9.11')],
  ])('is rejected if it %s', (_, text) => {
    expect(text).not.toBe(GOOD);
    expect(() => parseChangelog(text)).toThrow();
  });
});
