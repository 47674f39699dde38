import http from 'node:http';
import { once } from 'node:events';
import { Client } from 'pg';
import { endFile, endTest } from './leftovers';
import { sharedApp } from './shared-app';

/** What a test does, and how to undo it. */
type Leaving = () => Promise<() => unknown> | (() => unknown);

const listening: Leaving = async () => {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return () => new Promise((resolve) => server.close(resolve));
};

const IN_PROCESS: [string, string, Leaving][] = [
  [
    'a fake clock',
    'a fake clock',
    () => (jest.useFakeTimers({ doNotFake: ['setTimeout'] }), () => jest.useRealTimers()),
  ],
  [
    'a listener on process',
    'a listener of SIGWINCH on process',
    () => {
      const ignore = (): void => undefined;
      process.on('SIGWINCH', ignore);
      return () => process.off('SIGWINCH', ignore);
    },
  ],
  ['a server', 'a listening server', listening],
];

describe('a file whose test leaves', () => {
  const app = sharedApp();

  it.each(IN_PROCESS)('%s fails, and names the test', async (_, message, leave) => {
    const undo = await leave();
    endTest('the culprit');
    endTest('a later test');
    try {
      await expect(endFile(1)).rejects.toThrow(`${message} (since the test "the culprit")`);
    } finally {
      await undo();
    }
    await endFile();
  });

  it('an open transaction in the shared database fails', async () => {
    const client = new Client({ connectionString: app.databaseUrl });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE datasets IN SHARE MODE');
    await expect(endFile(1)).rejects.toThrow(
      'an open transaction in the shared database, after BEGIN; LOCK TABLE',
    );
    await client.end();
    await endFile();
  });

  it.each([
    [
      'a constraint',
      'ALTER TABLE datasets ADD CONSTRAINT left_here CHECK (true)',
      'ALTER TABLE datasets DROP CONSTRAINT left_here',
    ],
    [
      'a setting',
      "ALTER TABLE datasets SET (autovacuum_enabled = 'false')",
      'ALTER TABLE datasets RESET (autovacuum_enabled)',
    ],
  ])('%s of a shared table fails', async (_, change, undo) => {
    await app.database.query(change);
    await expect(endFile(1)).rejects.toThrow('a changed table, function or setting of the shared database');
    await app.database.query(undo);
    await endFile();
  });

  it('cannot stop the shared application', async () => {
    await expect(app.close()).rejects.toThrow('A shared application stops with its worker.');
  });
});
