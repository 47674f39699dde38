import { PeriodicTasks } from '#platform/jobs';
import { ownApp, createTestWorker, type TestWorker } from '#testing';

/** The tables that workers clean for judges. */
const AGED_TABLES = [
  {
    task: 'old judge answers',
    table: 'judge_answers',
    hours: 48,
    key: 'question_sha256',
    row: { workspace_id: 'w', scorer_id: 's', scorer_version: 1, sample: 0, judgement: '{}' },
    at: 'created_at',
  },
  {
    task: 'old rate limits of models',
    table: 'model_limits',
    hours: 24,
    key: 'model',
    row: {},
    at: 'updated_at',
  },
  {
    task: 'old judge features',
    table: 'judge_features',
    hours: 24,
    key: 'model',
    row: { features: '{}' },
    at: 'learned_at',
  },
];

describe('the periodic tasks of a worker', () => {
  const app = ownApp({ env: { JUDGE_CACHE_DAYS: '2' } });
  let worker: TestWorker;
  let tasks: { scheduler: PeriodicTasks; name: string; run: () => Promise<unknown> }[] = [];

  beforeAll(async () => {
    jest.spyOn(PeriodicTasks.prototype, 'every').mockImplementation(function (
      this: PeriodicTasks,
      name,
      _intervalMs,
      run,
    ) {
      tasks.push({ scheduler: this, name, run });
    });
    worker = await createTestWorker(app);
    const own = worker.get(PeriodicTasks); // a shared worker of this process schedules tasks too
    tasks = tasks.filter(({ scheduler }) => scheduler === own);
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await worker.close();
  });

  it('are complete', () => {
    expect(tasks.map(({ name }) => name).sort()).toEqual([
      'MCP checks to delete',
      'MCP servers',
      'abandoned scoring batches',
      'apps',
      'erasures',
      'expired model answers',
      'idempotency keys',
      'interrupted uploads',
      'old judge answers',
      'old judge features',
      'old rate limits of models',
      'partitions of log_records',
      'partitions of metric_points',
      'partitions of spans',
      'rate limits',
      'record words',
      'retention of scores',
      'retention of sessions',
      'retention of telemetry',
      'scoring rules',
      'search embeddings',
      'search indexes',
      'stalled scoring orders',
      'statistics',
      'stored MCP results',
      'traces of scores',
      'turns of scoring runs',
    ]);
  });

  it.each(AGED_TABLES)(
    'delete old rows of $table and keep new ones',
    async ({ task, table, hours, key, row, at }) => {
      const columns = Object.keys(row);
      const insert = (name: string, ageHours: number) =>
        app.database.query(
          `INSERT INTO ${table} (${[key, at, ...columns].join(', ')})
         VALUES ($1, now() - $2::int * interval '1 hour' ${columns.map((_, n) => `, $${n + 3}`).join('')})`,
          [name, ageHours, ...Object.values(row)],
        );
      await insert('old', hours + 1);
      await insert('new', hours - 1);
      await tasks.find(({ name }) => name === task)!.run();
      expect(await app.database.query(`SELECT ${key} AS name FROM ${table}`)).toEqual([{ name: 'new' }]);
    },
  );
});
