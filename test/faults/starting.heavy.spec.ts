import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Client } from 'pg';
import { readEnvironment } from '#platform/config';
import { createTestDatabase, type TestDatabase } from '#testing';
import { listen } from '../../src/create-api';
import { MIGRATION_LOCK } from '../../src/database/migrate';
import { childrenOf, CONTAINER, describeWithContainers } from './embedded-postgres.harness';

const SECRETS_KEY = randomBytes(32).toString('base64');

const ENTRIES = ['standalone', 'main', 'worker', 'migrate', 'bootstrap', 'rotate-secrets'];

/** Processes that send their own traces. Tracing must load before the modules that it patches. */
const TRACED: Record<string, string> = { main: 'api', worker: 'worker', standalone: 'standalone' };
/** The exit codes that docs/guides/upgrading.md promises. */
const CODES: Record<string, number> = { standalone: 0 };

describe('a process that starts', () => {
  let database: TestDatabase;
  let migrating: Client;
  let dataDir: string;
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    dataDir = mkdtempSync(path.join(os.tmpdir(), 'starting-'));
    database = await createTestDatabase();
    migrating = new Client({ connectionString: database.url });
    await migrating.connect();
    await migrating.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  });
  afterAll(async () => {
    for (const child of started) child.kill('SIGKILL');
    await migrating.end();
    await database.drop();
    rmSync(dataDir, { recursive: true });
  });

  /** Starts an entry, and resolves once it logs that it waits for another process's migration. */
  async function startWaiting(entry: string, before: readonly string[] = []): Promise<ChildProcess> {
    const [command, ...args] = [...before, process.execPath, path.resolve(`dist/src/${entry}.js`)];
    const child = spawn(command!, args, {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: database.url,
        DATA_DIR: dataDir,
        SECRETS_KEY,
        PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(child);
    await new Promise<void>((resolve, reject) => {
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          if (output.includes('waiting for another process that migrates the database')) resolve();
        });
      }
      child.once('exit', (code) => reject(new Error(`${entry} ended with ${code}: ${output}`)));
    });
    return child;
  }

  it.each(ENTRIES)('ends immediately on SIGTERM while it waits for a migration: %s', async (entry) => {
    const child = await startWaiting(entry);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([CODES[entry] ?? 143, null]);
  });

  describe('and cannot continue', () => {
    let migrated: TestDatabase;
    const other = createServer();

    beforeAll(async () => {
      migrated = await createTestDatabase();
      await once(other.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(async () => {
      other.close();
      await migrated.drop();
    });

    const portInUse = (): string => String((other.address() as AddressInfo).port);

    it.each<[string, () => Record<string, string>, RegExp]>([
      ['a port in use', () => ({ PORT: portInUse() }), /^Port \d+ is in use; set PORT to another port\.$/],
      [
        'an address of another machine',
        () => ({ HOST: '192.0.2.1' }),
        /^The API cannot be served at HOST and PORT: listen EADDRNOTAVAIL/,
      ],
      [
        'an unreachable database',
        () => ({ DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x' }),
        /^The database cannot be reached \(connect ECONNREFUSED 127\.0\.0\.1:1\); check DATABASE_URL, and that its server is running\.$/,
      ],
    ])('reports %s in one line, without a stack', async (_, variables, message) => {
      const env = {
        DATABASE_URL: migrated.url,
        DATA_DIR: dataDir,
        SECRETS_KEY,
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_LEVEL: 'error',
        ...variables(),
      };
      const output = await new Promise<string>((resolve) => {
        execFile(process.execPath, ['dist/src/main.js'], { env }, (_error, stdout) => resolve(stdout));
      });
      const lines = output.trim().split('\n');
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
        expect.objectContaining({ level: 'fatal', msg: expect.stringMatching(message) as string }),
      ]);
      expect(JSON.parse(lines[0]!)).not.toHaveProperty('err');
    });

    it('keeps the error of an initialization that fails, with its stack', async () => {
      const fault = new TypeError('a module failed');
      const app = { listen: () => Promise.reject(fault) } as unknown as NestExpressApplication;
      await expect(listen(app, readEnvironment({}))).rejects.toBe(fault);
    });
  });

  it('handles signals before it loads other modules, in every process', () => {
    const entries = readdirSync('src')
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ file, text: readFileSync(path.join('src', file), 'utf8') }))
      .filter(({ text }) => text.includes('\nstart('));
    // verify-storage does not migrate
    expect(entries.map(({ file }) => path.basename(file, '.ts')).sort()).toEqual(
      [...ENTRIES, 'verify-storage'].sort(),
    );
    for (const { file, text } of entries) {
      const [first, second] = text.split('\n');
      expect([file, first]).toEqual([file, "import './starting';"]);
      const traced = TRACED[path.basename(file, '.ts')];
      if (traced) expect([file, second]).toEqual([file, `import './traced-${traced}';`]);
    }
  });

  describeWithContainers('as the first process of a container', () => {
    it('ends immediately on SIGTERM, which has no default action there', async () => {
      const container = await startWaiting('main', CONTAINER);
      const exited = once(container, 'exit');
      const [first] = childrenOf(container.pid!);
      process.kill(first!, 'SIGTERM');
      expect(await exited).toEqual([143, null]);
    });
  });
});
