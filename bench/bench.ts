import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '#platform/auth';
import type { Direct } from './direct';
import type { Http } from './http';
import type { BenchJudge } from './judge';
import type { Comparison } from './measure';

/** Interval at which the memory of the service is sampled. */
const MEMORY_SAMPLE_MS = 20;

/** What a benchmark uses: the service, direct access to its database, and a report. */
export class Bench {
  constructor(
    readonly scope: Scope,
    readonly http: Http,
    readonly direct: Direct,
    /** The backend of the service's judges. */
    readonly judge: BenchJudge,
    /** Starts another worker of the service. */
    readonly addWorker: () => Promise<{ stop(): Promise<void> }>,
    /** Returns the resident memory of the service's process, in bytes. */
    private readonly memory: () => Promise<number>,
  ) {}

  /** Samples the memory of the service, or another memory. `stop` returns its largest growth, in bytes. */
  watchMemory(memory = this.memory): { stop(): Promise<number> } {
    let isWatching = true;
    const watch = async (): Promise<number> => {
      const before = await memory();
      let peak = before;
      while (isWatching) {
        await delay(MEMORY_SAMPLE_MS);
        peak = Math.max(peak, await memory());
      }
      return peak - before;
    };
    const growth = watch();
    return {
      stop: () => {
        isWatching = false;
        return growth;
      },
    };
  }

  /**
   * Returns the private memory of the processes that serve the database's connections, in bytes. 0 if they do not run on this
   * machine, or if it has no /proc.
   */
  async databaseMemory(): Promise<number> {
    const processes = await this.direct.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    const sizes = await Promise.all(
      processes.map(async ({ pid }) => {
        const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
        return Number(/^RssAnon:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
      }),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async newExperiment(): Promise<string> {
    const body = { workspace_id: this.scope.workspaceId, name: 'bench' };
    return (await this.http.json<{ experiment_id: string }>('POST', '/eval/v1/experiments', 201, body))
      .experiment_id;
  }

  /** Fills an experiment with results that PostgreSQL generates: about 1 KB each, with this many scores. */
  async fillResults(experimentId: string, count: number, scorers: number): Promise<void> {
    await this.loadResults(experimentId, count, scorers);
    await this.direct.query('VACUUM (ANALYZE) results, scores');
  }

  /** Returns the id of the nth result (from 1) that `loadResults` has loaded. */
  static resultId(experimentId: string, n: number): string {
    return `res_${String(n).padStart(16, '0')}${experimentId.slice(-10)}`;
  }

  /**
   * Loads the results of {@link fillResults} without analyzing the tables.
   *
   * @param scoreOf the score of the nth result (`n`) by the sth scorer (`s`) as SQL
   */
  async loadResults(
    experimentId: string,
    count: number,
    scorers: number,
    scoreOf = '((n * s) % 100) / 100.0',
  ): Promise<void> {
    await this.direct.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, input, expected, output, created_at,
                            updated_at, created_by)
       SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case-' || n,
              json_build_object('question', repeat('what is it? ', 25)), json_build_object('answer', n),
              json_build_object('text', repeat('it is found step by step. ', 20)),
              now(), now(), 'bench'
       FROM generate_series(1, $3::int) n`,
      [experimentId, this.scope.workspaceId, count],
    );
    await this.direct.query(
      `INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, experiment_id, result_id,
                           result_version, case_id, score, is_current, created_at, created_by)
       SELECT 'score_' || lpad((n::int8 * 100 + s)::text, 16, '0') || right($1, 10), $2, 'scorer ' || s, 'client', 'result',
              $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), 1, 'case-' || n, ${scoreOf}, true, now(), 'bench'
       FROM generate_series(1, $3::int) n CROSS JOIN generate_series(1, $4::int) s`,
      [experimentId, this.scope.workspaceId, count, scorers],
    );
  }

  report(title: string, unit: string, { medians, ratios }: Comparison, names = ['direct', 'service']): void {
    const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
    const others = ratios
      .slice(1)
      .map((ratio) => ratio.toFixed(2))
      .join(', ');
    const sides = names.map((name, i) => `${name} ${digits(medians[i]!)}`).join(', ');
    this.line(`${title}: ${sides} ${unit}; ratio ${others}`);
  }

  line(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}
