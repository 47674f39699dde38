import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ENVIRONMENT_VARIABLES } from '#platform/config';

const page = readFileSync(path.resolve('docs/operations.md'), 'utf8');

describe('docs/operations.md', () => {
  it('documents every variable that the service reads', () => {
    expect(ENVIRONMENT_VARIABLES.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('documents no other variables', () => {
    const table = page.slice(page.indexOf('## Environment'), page.indexOf('## PostgreSQL'));
    const named = [...table.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !ENVIRONMENT_VARIABLES.includes(name))).toEqual([]);
  });
});
