import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '#platform/auth';
import type { Problem } from '#platform/problem';
import { createTestApp, type TestApp } from '#testing';
import { ComparisonRepository } from '../../../src/evaluation/comparison/comparison.repository';
import { ComputingTurns, type Lane } from '../../../src/evaluation/comparison/computing-turns';
import { PreparedComparison } from '../../../src/evaluation/comparison/prepared-comparison';
import { compare, compared, experimentOf, EXPERIMENTS, fill, scored } from './comparison.fixture';
import { EvaluationWorkspace, outcome } from './evaluation.harness';

const NEVER = new AbortController().signal;
/** Requests of one lane that may wait. */
const WAITING_MAX = 64;

/** What a workspace would lose to others that have much compared, or to its own requests that nobody waits for. */
describe('comparisons that wait for their turn', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;
  let turns: ComputingTurns;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
    turns = app.get(ComputingTurns);
  });
  afterAll(() => app.close());

  /** Takes all turns of a lane, for another workspace. @returns gives them back. */
  async function occupied(lane: Lane): Promise<() => Promise<void>> {
    let release = (): void => undefined;
    const end = new Promise<void>((resolve) => (release = resolve));
    const begun: Promise<void>[] = [];
    const held = [0, 1].map((n) => {
      let begin = (): void => undefined;
      begun.push(new Promise<void>((resolve) => (begin = resolve)));
      return turns.take({ orgId: `other ${n}`, workspaceId: 'theirs' } as Scope, lane, NEVER, () => {
        begin();
        return end;
      });
    });
    await Promise.all(begun);
    return async () => {
      release();
      await Promise.all(held);
    };
  }

  /** Whether one more of this workspace may wait. */
  async function isFree(lane: Lane): Promise<boolean> {
    const leaving = new AbortController();
    const free = new Error('there is room');
    const own = { orgId: space.organization.orgId, workspaceId: space.id } as Scope;
    const waiting = turns.take(own, lane, leaving.signal, () => Promise.resolve());
    leaving.abort(free);
    const reason = await waiting.then(
      () => free,
      (error: unknown) => error,
    );
    if (reason === free) return true;
    expect((reason as Problem).code).toBe('service_overloaded');
    return false;
  } // prettier-ignore

  const pairOf = async (): Promise<[string, string]> => [
    await experimentOf(space, scored('s', [1, 0, 1])),
    await experimentOf(space, scored('s', [0, 0, 1])),
  ];

  it('are held up by large ones of others only where they are large themselves', async () => {
    const [candidate, baseline] = await pairOf();
    const { experiment_id: large } = await space.experiment({ baseline_experiment_id: baseline });
    await fill(space, app.database, large, 1_001, `'{"s": 1}'::jsonb`);
    const release = await occupied('large');
    let isAnswered = false;
    const waiting = compare(space, large).finally(() => (isAnswered = true));
    expect((await compared(space, candidate, baseline)).scorers).toHaveLength(1);
    expect(isAnswered).toBe(false);
    await release();
    expect((await waiting).status).toBe(200);
  });

  it('do not wait for further cases of frozen experiments, and work out no statistics for them', async () => {
    const [candidate, baseline] = await pairOf();
    for (const id of [candidate, baseline]) await space.finalize(id);
    const only = { only: 'improved', offset: '1', limit: '1' };
    expect((await compared(space, candidate, baseline, only)).cases.page.total).toBe(1);
    const release = await occupied('small');
    expect((await compared(space, candidate, baseline, only)).cases.page.total).toBe(1);
    let isAnswered = false;
    const whole = compare(space, candidate, { baseline_experiment_id: baseline }).finally(() => (isAnswered = true));
    const page = await compared(space, candidate, baseline, { offset: '1', limit: '1' });
    expect([page.scorers, page.cases.items.length, isAnswered]).toEqual([null, 1, false]);
    await release();
    expect((await whole).body.scorers).toHaveLength(1);
    // from now on they are kept too
    const again = await occupied('small');
    expect((await compared(space, candidate, baseline)).scorers).toEqual((await whole).body.scorers);
    await again();
  }); // prettier-ignore

  it('work out no statistics where cases alone are asked for, of running experiments neither', async () => {
    const [candidate, baseline] = await pairOf();
    const worked = jest.spyOn(PreparedComparison.prototype, 'compare');
    const { page } = (await compared(space, candidate, baseline, { limit: '1' })).cases;
    expect(worked).toHaveBeenCalledTimes(1);
    const further: Record<string, string>[] = [
      { cursor: page.next_cursor! },
      { offset: '1' },
      { offset: '1', only: 'improved' },
    ];
    for (const id of [undefined, candidate, baseline]) {
      if (id !== undefined) await space.finalize(id);
      for (const query of further) {
        expect((await compared(space, candidate, baseline, query)).scorers).toBeNull();
      }
    }
    expect(worked).toHaveBeenCalledTimes(1);
    worked.mockRestore();
  });

  it('are refused where too many wait, and make room when their client goes', async () => {
    const [candidate, baseline] = await pairOf();
    const release = await occupied('small');
    const url = `${app.url}${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
    const headers = {
      authorization: `Bearer ${await space.organization.token('viewer')}`,
      'x-service-workspace-id': space.id,
    };
    const clients = Array.from({ length: WAITING_MAX }, () => new AbortController());
    const waiting = clients.map(({ signal }) =>
      fetch(url, { headers, signal }).then(
        (answer) => answer.status,
        () => 'gone',
      ),
    );
    while (await isFree('small')) await delay(5);
    const refused = await compare(space, candidate, { baseline_experiment_id: baseline });
    expect(outcome(refused)).toEqual([503, 'service_overloaded']);
    expect(refused.headers.get('retry-after')).toBe('1');
    // a gate waits for the same
    const rules = [{ scorer: 's', min_mean: 0 }];
    const gate = await space.viewer.post(`${EXPERIMENTS}/${candidate}/gate`, { rules });
    expect(outcome(gate)).toEqual([503, 'service_overloaded']);
    // another workspace's is let in, for one of those
    const other = await EvaluationWorkspace.open(app);
    const foreign = await experimentOf(other, scored('s', [1]), {
      baseline_experiment_id: await experimentOf(other, scored('s', [0])),
    });
    const theirs = compare(other, foreign);
    const [shed, status] = await Promise.race(waiting.map(async (one, n) => [n, await one] as const));
    expect(status).toBe(503);

    const gone = (shed + 1) % WAITING_MAX;
    clients[gone]!.abort();
    while (!(await isFree('small'))) await delay(5);
    await release();
    expect((await theirs).status).toBe(200);
    const statuses = await Promise.all(waiting);
    expect(statuses.filter((status) => status === 200)).toHaveLength(WAITING_MAX - 2);
    expect([statuses[shed], statuses[gone]]).toEqual([503, 'gone']);
  });

  it('end when their client goes while they are worked out', async () => {
    const [candidate, baseline] = await pairOf();
    const repository = app.get(ComparisonRepository);
    const read = repository.eachScored.bind(repository);
    const client = new AbortController();
    const server = app.app.getHttpServer() as Server;
    const closed = new Promise<void>((resolve) => {
      server.once('request', (_: unknown, response: ServerResponse) => {
        void once(response, 'close').then(() => resolve());
      });
    });
    let sides = 0;
    // from here on nobody waits, and the service knows
    repository.eachScored = async (...given) => {
      sides++;
      client.abort();
      await closed;
      return read(...given);
    };
    try {
      const url = `${app.url}${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
      const headers = {
        authorization: `Bearer ${await space.organization.token('viewer')}`,
        'x-service-workspace-id': space.id,
      };
      await expect(fetch(url, { headers, signal: client.signal })).rejects.toThrow();
      // its turn is free again, without the other side having been read
      await (
        await occupied('small')
      )();
      expect(sides).toBe(1);
    } finally {
      repository.eachScored = read;
    }
    expect((await compared(space, candidate, baseline)).scorers).toHaveLength(1);
  });

  /** A request for a comparison whose client can go. @returns its status, and what comes when the service knows that it went. */
  const leaving = async (candidate: string, baseline: string, query: string) => {
    const client = new AbortController();
    const server = app.app.getHttpServer() as Server;
    const path = `${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}${query}`;
    const closed = new Promise<void>((resolve) => {
      const heed = ({ url }: IncomingMessage, response: ServerResponse): void => {
        if (url !== path) return;
        server.off('request', heed);
        response.once('close', resolve);
      };
      server.on('request', heed);
    });
    const headers = {
      authorization: `Bearer ${await space.organization.token('viewer')}`,
      'x-service-workspace-id': space.id,
    };
    const status = fetch(`${app.url}${path}`, { headers, signal: client.signal }).then(
      (answer) => answer.status,
      () => 'gone',
    );
    return { client, closed, status };
  };

  it('take one turn where several ask for the same, and go on when the first of their clients goes', async () => {
    const [candidate, baseline] = await pairOf();
    for (const id of [candidate, baseline]) await space.finalize(id);
    const repository = app.get(ComparisonRepository);
    const { eachScored, find } = repository;
    let [sides, found] = [0, 0];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    repository.eachScored = async (...given) => {
      sides++;
      await released;
      return eachScored.apply(repository, given);
    };
    repository.find = async (...given) => {
      const row = await find.apply(repository, given);
      found++;
      return row;
    };
    try {
      const first = await leaving(candidate, baseline, '&limit=1');
      while (sides < 1) await delay(5);
      const second = compare(space, candidate, { baseline_experiment_id: baseline });
      // each has found both experiments
      while (found < 4) await delay(5);
      for (let i = 0; i < 5; i++) await app.database.query('SELECT 1');
      let isFree = false;
      const other = turns.take({ workspaceId: 'another', orgId: 'another' } as Scope, 'small', NEVER, () => {
        isFree = true;
        return Promise.resolve();
      });
      await app.database.query('SELECT 1');
      expect(isFree).toBe(true);
      await other;
      first.client.abort();
      await first.closed;
      release();
      expect((await second).body.scorers).toHaveLength(1);
      expect(await first.status).toBe('gone');
      // one of each experiment, for both
      expect(sides).toBe(2);
    } finally {
      release();
      Object.assign(repository, { eachScored, find });
    }
  });

  it('have two pages of their cases read at once, and none whose client has gone', async () => {
    const [candidate, baseline] = await pairOf();
    for (const id of [candidate, baseline]) await space.finalize(id);
    await compared(space, candidate, baseline);
    const repository = app.get(ComparisonRepository);
    const { shown } = repository;
    let [read, atOnce, most] = [0, 0, 0];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    repository.shown = async (...given) => {
      if (given[2].length === 0) return [];
      read++;
      most = Math.max(most, ++atOnce);
      await released;
      const rows = await shown.apply(repository, given);
      atOnce--;
      return rows;
    };
    try {
      const pages = Array.from({ length: 5 }, () => compared(space, candidate, baseline));
      while (read < 4) await delay(5);
      const gone = await leaving(candidate, baseline, '&limit=2');
      gone.client.abort();
      // statistics alone need none
      expect((await compared(space, candidate, baseline, { limit: '0' })).scorers).toHaveLength(1);
      release();
      for (const { cases } of await Promise.all(pages)) expect(cases.items).toHaveLength(3);
      expect(await gone.status).toBe('gone');
      // of both experiments, and none twice
      expect([most, read]).toEqual([4, 10]);
    } finally {
      release();
      repository.shown = shown;
    }
  });
});
