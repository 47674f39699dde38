import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient, TestApp, TestWorker } from '#testing';
import { TraceFeedRepository } from '../../src/telemetry';
import { ScoringRuleRunner } from '../../src/evaluation/scoring/rules/scoring-rule.runner';
import { ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';

/** A scorer that gives every target the score 1. */
export const ALWAYS = script('function score() { return 1; }');

/** A workspace with rules that score arriving traces. */
export class RulesFixture {
  private constructor(
    readonly on: ScoringFixture,
    private readonly workers: () => readonly TestWorker[],
  ) {}

  /** @param workers the workers of {@link runDue}; none if they are separate processes with their own schedule */
  static async create(app: TestApp, workers: () => readonly TestWorker[]): Promise<RulesFixture> {
    return new RulesFixture(await ScoringFixture.create(app), workers);
  }

  /** Creates a rule with the shortest quiet time, for a new scorer by default. */
  async rule(members: object = {}, scorer?: any, caller: ApiClient = this.on.evaluator): Promise<any> {
    const { scorer_id } = scorer ?? (await this.on.scorer(ALWAYS));
    const body = { workspace_id: caller.workspaceId, quiet_seconds: 1, ...members };
    const answer = await caller.post(`/eval/v1/scorers/${scorer_id}/rules`, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  async read(rule: any): Promise<any> {
    return (await this.on.evaluator.get(pathOf(rule))).body;
  }

  async patch(rule: any, body: object): Promise<any> {
    const answer = await this.on.evaluator.patch(pathOf(rule), body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  traces(count: number, options: object = {}): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, () => this.on.trace(options)));
  }

  async runDue(): Promise<void> {
    await Promise.all(this.workers().map((worker) => worker.get(ScoringRuleRunner).runDue()));
  }

  /** Runs due rules until a rule has seen this many traces or sessions. */
  async seen(rule: any, count: number): Promise<any> {
    for (;;) {
      await this.runDue();
      const current = await this.read(rule);
      if (current.seen_count >= count) return current;
      await delay(50);
    }
  }

  async runs({ rule_id }: any): Promise<any[]> {
    const { body } = await this.on.evaluator.get(`/eval/v1/score-runs?limit=500&rule_id=${rule_id}`);
    return body.items;
  }

  /** Waits for all runs of a rule, and returns their results. */
  async results(rule: any): Promise<any[]> {
    const results: any[] = [];
    for (const { score_run_id } of await this.runs(rule)) {
      await this.on.finished(score_run_id);
      results.push(...(await this.on.resultsOf(score_run_id)));
    }
    return results;
  }

  /** Returns the ids that a rule has scored, sorted, each as often as it was scored. */
  async scored(rule: any, member: 'trace_id' | 'session_id' = 'trace_id'): Promise<string[]> {
    return (await this.results(rule)).map((one) => one[member] as string).sort();
  }
}

/** Lets the worker's rules see the time one second ahead, so that traces count as quiet at once, until mocks are restored. */
export function skipQuietSecond(worker: TestWorker): TestWorker {
  const arrivals = worker.get(TraceFeedRepository);
  const clock = arrivals.clock.bind(arrivals);
  jest.spyOn(arrivals, 'clock').mockImplementation(async () => {
    const { settled_us, now_us } = await clock();
    return { settled_us, now_us: now_us + 1_000_000 };
  });
  return worker;
}

/** Waits until all traces sent so far have settled. Returns the end of the settled arrivals. */
export async function settled(app: TestApp): Promise<number> {
  const arrivals = app.get(TraceFeedRepository);
  const { now_us } = await arrivals.clock();
  for (;;) {
    const { settled_us } = await arrivals.clock();
    if (settled_us > now_us) return settled_us;
    await delay(5);
  }
}

export const pathOf = ({ scorer_id, rule_id }: any): string =>
  `/eval/v1/scorers/${scorer_id}/rules/${rule_id}`;
