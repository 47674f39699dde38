import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ENVIRONMENT_VARIABLES } from '#platform/config';

const read = (file: string): string => readFileSync(path.resolve(file), 'utf8');

/** The variables that have a row on the page, each with its default as written there. */
const rows = [
  ...read('docs/reference/configuration.md').matchAll(/^\| `([A-Z][A-Z0-9_]+)` +\| (.*?) +\|/gm),
].map(([, name, cell]) => [name!, cell!] as const);

describe('the page on configuration', () => {
  it('has one row for each variable that the service reads, and no others', () => {
    expect(rows.map(([name]) => name).sort()).toEqual([...ENVIRONMENT_VARIABLES].sort());
  });

  it('has the defaults of .env.example', () => {
    const defaults = [...read('.env.example').matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)];
    const expected = Object.fromEntries(defaults.map(([, name, value]) => [name!, `\`${value!}\``]));
    const documented = Object.fromEntries(rows.filter(([, cell]) => cell !== ''));
    expect(documented).toEqual(expected);
  });
});
