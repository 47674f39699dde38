import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CATALOGUE } from '#platform/problem';

const page = readFileSync(path.resolve('docs/reference/errors.md'), 'utf8');

describe('the page on errors', () => {
  it('lists every code of the catalogue once, with its status', () => {
    const listed = [...page.matchAll(/^\| `(\w+)` +\| (\d{3})/gm)].map(
      ([, code, status]) => `${code!} ${status!}`,
    );
    const expected = Object.entries(CATALOGUE).map(([code, { status }]) => `${code} ${status}`);
    expect(listed.sort()).toEqual(expected.sort());
  });

  it('explains each code', () => {
    const rows = page.split('\n').filter((line) => /^\| `\w+` +\| \d{3}/.test(line));
    const unexplained = rows.filter((row) => {
      const [, , , when, remedy] = row.split('|').map((cell) => cell.trim());
      return !when || !remedy;
    });
    expect(unexplained).toEqual([]);
  });
});
