import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { sharedApp } from '#testing';
import {
  EvaluationWorkspace,
  type Experiment,
  type Page,
  type Result,
} from '../e2e/evaluation/evaluation.harness';

const CASES = 800;
/** The shares of the cases that are uploaded when the client is killed, one after another. */
const CRASHES = [0.05, 0.2, 0.4, 0.6, 0.8];
/** Cases that a client may send after the point at which it is killed. */
const AHEAD = 80;

describe('an evaluation whose client crashes', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });
  afterAll(() => {
    for (const child of started) child.kill('SIGKILL');
  });

  const list = async <Item>(rest: string): Promise<Page<Item>> =>
    (await space.viewer.get<Page<Item>>(`/eval/v1/experiments${rest}`)).body;
  const stored = async (): Promise<number> => {
    const { items } = await list<Experiment>('');
    return items[0] ? (await list<Result>(`/${items[0].experiment_id}/results?limit=0`)).page.total! : 0;
  };

  /** @param stopAt number of cases after which the client pauses, so that it cannot end before it is killed */
  async function startClient(stopAt = Infinity): Promise<{ child: ChildProcess; ended: Promise<unknown[]> }> {
    const child = spawn(process.execPath, [path.join(__dirname, 'upload.child.js')], {
      env: {
        PATH: process.env.PATH,
        BASE_URL: app.url,
        TOKEN: await space.organization.token('editor'),
        WORKSPACE_ID: space.id,
        CASES: String(CASES),
        STOP_AT: String(stopAt),
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    started.push(child);
    return { child, ended: once(child, 'exit') };
  }

  it('has each case once after repeated crashes during uploads', async () => {
    for (const share of CRASHES) {
      // the client is killed while calls are in flight
      const { child, ended } = await startClient(share * CASES + AHEAD);
      while (child.exitCode === null && (await stored()) < share * CASES);
      child.kill('SIGKILL');
      expect(await ended).toEqual([null, 'SIGKILL']);
    }
    expect(await stored()).toBeLessThan(CASES);
    const { ended } = await startClient();
    expect(await ended).toEqual([0, null]);

    const experiments = await list<Experiment>('');
    expect(experiments.items).toHaveLength(1);
    const [{ experiment_id, experiment_status, summary }] = experiments.items as [Experiment];
    expect([experiment_status, summary]).toEqual([
      'completed',
      {
        scores: { s: { mean: 1, count: CASES } },
        scorers: {},
        metrics: { cases: CASES },
        coverage: {
          expected_case_count: null,
          result_count: CASES,
          error_count: 0,
          scorers: { s: { scored_count: CASES, null_count: 0 } },
        },
        is_truncated: false,
        is_scorers_truncated: false,
      },
    ]);
    const outputs: unknown[] = [];
    for (let offset = 0; offset < CASES; offset += 500) {
      const page = await list<Result>(`/${experiment_id}/results?limit=500&offset=${offset}`);
      expect(page.page.total).toBe(CASES);
      outputs.push(...page.items.map((item) => (item.output as { case_id: string }).case_id));
    }
    expect(outputs).toHaveLength(CASES);
    expect(new Set(outputs)).toEqual(new Set(Array.from({ length: CASES }, (_, n) => `case ${n}`)));
  }, 120_000);
});
