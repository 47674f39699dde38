import { Batcher, runUnjoined } from '#platform/concurrency';
import { Database, RolledBack, sql } from '#platform/db';
import { sharedApp } from '#testing';

describe('pieces of work that join their transactions', () => {
  const app = sharedApp();
  let database: Database;
  let names: Batcher<string, string | null>;
  /** The rows of each last write. */
  let lastWrites: (string | null)[][];

  beforeAll(async () => {
    database = app.get(Database);
    await database.query('CREATE TABLE joined (name text PRIMARY KEY)');
    names = new Batcher({
      run: (items) =>
        database.transaction(async (tx) => {
          for (const name of items) {
            if (name !== 'refused' && name !== 'unwritten')
              await tx.query(sql`INSERT INTO joined VALUES (${name})`);
          }
          return items.map((name) =>
            name === 'unwritten' ? null : name === 'refused' ? Promise.reject(new Error(name)) : name,
          );
        }),
      max: 10,
      isWriting: true,
    });
  });
  afterAll(() => database.query('DROP TABLE joined'));

  beforeEach(async () => {
    lastWrites = [];
    await database.query('TRUNCATE joined');
  });

  const stored = async () =>
    (await database.query<{ name: string }>('SELECT name FROM joined ORDER BY 1')).map(({ name }) => name);

  /** Writes a name in a batch, then runs `after`, and returns the name as its last row. */
  const write = (name: string, after?: () => Promise<unknown>, isWritable = true) =>
    database.joinTransactions(
      async () => {
        const row = await names.add([], name);
        await after?.();
        return { row };
      },
      (rows) => {
        lastWrites.push([...rows]);
        return Promise.resolve(isWritable);
      },
    );
  const outcomes = async (works: Promise<unknown>[]) =>
    (await Promise.allSettled(works)).map((one) =>
      one.status === 'fulfilled' ? 'committed' : (one.reason as Error).constructor.name,
    );

  it('share a transaction for writes of one batch, with one last write for all', async () => {
    let seenBeforeCommit: unknown[] = [];
    const observe = async () => {
      seenBeforeCommit = await runUnjoined(() => database.query('SELECT name FROM joined'));
    };
    expect(await outcomes([write('a'), write('b', observe), write('c')])).toEqual(Array(3).fill('committed'));
    expect(seenBeforeCommit).toEqual([]);
    expect(lastWrites.map((rows) => rows.sort())).toEqual([['a', 'b', 'c']]);
    expect(await stored()).toEqual(['a', 'b', 'c']);
  });

  it('leave out work that has written nothing, which then fails for itself', async () => {
    const fail = () => Promise.reject(new TypeError('nothing was written'));
    expect(await outcomes([write('a'), write('unwritten', fail)])).toEqual(['committed', 'TypeError']);
    expect([lastWrites, await stored()]).toEqual([[['a']], ['a']]);
  });

  it('keep their statements apart from those of other work whose savepoint fails', async () => {
    const read = async () => {
      for (let count = 0; count < 20; count++) await database.query('SELECT 1');
    };
    const failing = () => database.transaction((tx) => tx.query('SELECT 1 / 0')).catch(() => undefined);
    const fail = async () => {
      for (let count = 0; count < 5; count++) await failing();
    };
    expect(await outcomes([write('a', read), write('b', fail)])).toEqual(['committed', 'committed']);
    expect(await stored()).toEqual(['a', 'b']);
  });

  it('do not include work that goes on after their end', async () => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const late: Promise<unknown>[] = [];
    const insert = (name: string) =>
      database.transaction((tx) => {
        tx.afterCommit(() => late.push(database.query(sql`INSERT INTO joined VALUES (${`after ${name}`})`)));
        return tx.query(sql`INSERT INTO joined VALUES (${name})`);
      });
    await database.joinTransactions(
      async () => {
        await insert('first');
        late.push(ended.then(() => insert('late')));
        return { row: 'first' };
      },
      () => Promise.resolve(true),
    );
    end();
    await late[0];
    await Promise.all(late);
    expect(await stored()).toEqual(['after first', 'after late', 'first', 'late']);
  });

  it('leave out an item that is refused', async () => {
    expect(await outcomes([write('a'), write('refused')])).toEqual(['committed', 'Error']);
    expect([lastWrites, await stored()]).toEqual([[['a']], ['a']]);
  });

  it('are rolled back together if one fails after its write', async () => {
    const fail = () => Promise.reject(new TypeError('after the write'));
    expect(await outcomes([write('a'), write('b', fail)])).toEqual([RolledBack.name, 'TypeError']);
    expect(lastWrites).toEqual([]);
    expect(await stored()).toEqual([]);
    expect(await outcomes([write('a')])).toEqual(['committed']);
  });

  it('are rolled back together if a last row cannot be written', async () => {
    expect(await outcomes([write('a', undefined, false), write('b', undefined, false)])).toEqual(
      Array(2).fill(RolledBack.name),
    );
    expect(await stored()).toEqual([]);
  });

  it('write in their own transaction if it is open', async () => {
    const both = database.joinTransactions(
      async () => {
        await database.transaction((tx) => tx.query(sql`INSERT INTO joined VALUES ('first')`));
        return { row: await names.add([], 'second') };
      },
      () => Promise.resolve(false),
    );
    expect(await outcomes([both, write('other')])).toEqual([RolledBack.name, 'committed']);
    expect(await stored()).toEqual(['other']);
  });
});
