import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '#client';
import { committedDocument } from '#testing';

const FILES = ['types.d.cts', 'operations.ts'].map((name) => `clients/typescript/src/api/${name}`);
const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];

interface Document {
  paths: Record<string, Record<string, { operationId: string }>>;
}

describe('the generated part of the TypeScript client', () => {
  it('is what the generator writes from openapi.json', () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'generated-'));
    try {
      execFileSync(process.execPath, ['scripts/write-clients.mjs', directory]);
      for (const file of FILES) {
        const written = readFileSync(path.join(directory, file), 'utf8');
        expect(`${file} ${written === readFileSync(file, 'utf8')}, or run npm run openapi`).toBe(
          `${file} true, or run npm run openapi`,
        );
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('has a method and a type for every operation, and no other', () => {
    const { paths } = committedDocument<Document>();
    const ids = Object.values(paths)
      .flatMap((path) => Object.entries(path))
      .filter(([method]) => METHODS.includes(method))
      .map(([, { operationId }]) => operationId)
      .sort();
    const { api } = new Client({ url: 'http://localhost', apiKey: 'key' });
    expect(Object.keys(api).sort()).toEqual(ids);
    const types = readFileSync(FILES[0]!, 'utf8').split('export interface Operations {')[1]!;
    expect([...types.matchAll(/^ {2}(\w+)\(/gm)].map(([, name]) => name).sort()).toEqual(ids);
  });

  it('has the version of the service', () => {
    const versions = ['package.json', 'clients/typescript/package.json'].map(
      (file) => (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version,
    );
    expect(versions[1]).toBe(versions[0]);
  });
});
