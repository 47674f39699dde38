import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const DIST = 'clients/typescript/dist';

/** Returns the files that a module loads when it is imported, and the packages among them. */
function loadedBy(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  const source = ts.createSourceFile(entry, readFileSync(entry, 'utf8'), ts.ScriptTarget.Latest);
  for (const statement of source.statements) {
    const isImport = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
    if (!isImport || !statement.moduleSpecifier) continue;
    const name = (statement.moduleSpecifier as ts.StringLiteral).text;
    if (name.startsWith('.')) loadedBy(path.join(path.dirname(entry), name), seen);
    else seen.add(name);
  }
  return seen;
}

describe('the package of the TypeScript client', () => {
  it('has less than 150 KB', () => {
    expect(statSync(`${DIST}/agent-registry.tgz`).size).toBeLessThan(150_000);
  });

  it('loads no module of Node and no package when it is imported, so that browsers can load it', () => {
    const loaded = [...loadedBy(`${DIST}/esm/index.js`)];
    expect(loaded.length).toBeGreaterThan(5);
    expect(loaded.filter((name) => !name.startsWith(DIST))).toEqual([]);
  });

  it('works without what only Node has, as in a browser', () => {
    const script = `
      const { log } = console;
      delete globalThis.process;
      const { Client } = await import('./${DIST}/esm/index.js');
      const fetch = async (url, { headers }) => Response.json({ url, agent: headers['user-agent'] ?? null });
      const client = new Client({ url: 'https://registry.example', apiKey: 'key', fetch });
      log(JSON.stringify(await client.api.getMe()));
      log(await client.skills.push('skill').catch((error) => error.message));
      try { new Client() } catch (error) { log(error.name) }`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(printed.trim().split('\n')).toEqual([
      '{"url":"https://registry.example/registry/v1/me","agent":null}',
      'Files can be read and written only in Node, Deno and Bun.',
      'ConfigurationError',
    ]);
  });

  it('has no dependencies', () => {
    const file = readFileSync('clients/typescript/package.json', 'utf8');
    const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(file) as Record<
      string,
      object
    >;
    expect(dependencies).toBeUndefined();
    expect(Object.keys(peerDependenciesMeta!)).toEqual(Object.keys(peerDependencies!));
  });
});
