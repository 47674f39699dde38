import { firstIdAt, newId } from '#platform/ids';
import {
  type ApiClient,
  createTestWorker,
  newOrganization,
  newSpan,
  ownApp,
  type TestOrganization,
  type TestWorker,
} from '#testing';
import { SessionRetention } from '../../../src/agents/sessions/session-retention';
import { ScoreRetention } from '../../../src/evaluation/scores/score-retention';
import { AuditRetentionRepository } from '../../../src/registry/audit-log/audit-retention.repository';
import { DayPartitionRepository } from '../../../src/telemetry/partitions/day-partition.repository';
import { TelemetryRetention } from '../../../src/telemetry/retention/telemetry-retention';
import { JSON_MEDIA, RawExporter } from './otlp.harness';
import { inconsistentSessions } from './reading.fixture';
import { SIGNALS } from './signals.harness';

const DAY_MS = 24 * 60 * 60_000;
const WORKSPACES = '/registry/v1/workspaces';
const INSTALLATION = { TRACE_RETENTION_DAYS: '90', LOG_RETENTION_DAYS: '60', SESSION_RETENTION_DAYS: '50' };
const NONE = {
  traces_days: null,
  logs_days: null,
  metrics_days: null,
  scores_days: null,
  sessions_days: null,
};

describe('the retention of a workspace', () => {
  const app = ownApp({ env: INSTALLATION });
  let organization: TestOrganization;
  let worker: TestWorker;
  let admin: ApiClient;
  let exporter: RawExporter;

  beforeAll(async () => {
    worker = await createTestWorker(app, INSTALLATION);
    organization = await newOrganization(app);
    admin = await organization.as('admin');
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
  });
  afterAll(async () => {
    await worker.close();
  });

  const path = () => `${WORKSPACES}/${organization.workspaceId}`;
  const retain = (retention: unknown, of = path()) => admin.patch(of, { retention });

  it.each([
    [{ traces_days: 0 }, 'invalid_request', 'must be at least 1'],
    [{ traces_days: 1.5 }, 'invalid_request', 'must be an integer'],
    [{ scores_days: '7' }, 'invalid_request', 'must be an integer'],
    [{ trace_days: 7 }, 'invalid_request', 'traces_days'],
    [{ traces_days: 91 }, 'invalid_request', 'must be at most 90, the TRACE_RETENTION_DAYS'],
    [{ logs_days: 61 }, 'invalid_request', 'must be at most 60, the LOG_RETENTION_DAYS'],
    [{ metrics_days: 91 }, 'invalid_request', 'must be at most 90, the TRACE_RETENTION_DAYS'],
    [{ sessions_days: 51 }, 'invalid_request', 'must be at most 50, the SESSION_RETENTION_DAYS'],
    [7, 'invalid_request', 'must be an object'],
  ])('rejects %j', async (retention, code, detail) => {
    const fields = { name: newId('wsp'), retention };
    for (const answer of [await retain(retention), await admin.post(WORKSPACES, fields)]) {
      expect(answer).toMatchObject({ status: 400, body: { code } });
      expect(JSON.stringify(answer.body)).toContain(detail);
    }
  });

  it('is merged, shown, and cleared with null', async () => {
    const { body: created } = await admin.post(WORKSPACES, { name: 'brief', retention: { traces_days: 30 } });
    expect(created.retention).toEqual({ ...NONE, traces_days: 30 });
    const of = `${WORKSPACES}/${created.workspace_id}`;
    const shown = async (retention: unknown) => (await retain(retention, of)).body.retention;
    expect(await shown({ scores_days: 5_000, logs_days: 60 })).toEqual({
      ...NONE,
      ...{ traces_days: 30, scores_days: 5_000, logs_days: 60 },
    });
    const before = await admin.get(of);
    const same = await retain(before.body.retention, of);
    expect(same.headers.get('etag')).toBe(before.headers.get('etag'));
    expect(await shown({ traces_days: null })).toMatchObject({ traces_days: null, logs_days: 60 });
    expect(await shown(null)).toEqual(NONE);
  });

  it('deletes what arrived earlier, and nothing of other workspaces', async () => {
    const [own, other] = [await record(exporter), await record(await exporterOf(await newOrganization(app)))];
    await retain({ traces_days: 7, logs_days: 7, metrics_days: 7 });
    const counts = async () => [await countOf(own), await countOf(other)];
    await moveTo(7, own, other);
    await worker.get(TelemetryRetention).deleteExpired();
    expect(await counts()).toEqual([ALL, ALL]);
    await moveTo(8, own, other);
    await worker.get(TelemetryRetention).deleteExpired();
    expect(await counts()).toEqual([{ traces: 0, spans: 0, models: 0, logs: 0, points: 0 }, ALL]);
    expect(await inconsistentSessions(app.database)).toEqual([]);
    await moveTo(61, other);
    await worker.get(TelemetryRetention).deleteExpired();
    expect(await countOf(other)).toEqual({ ...ALL, logs: 0 });
  });

  it('deletes resources and scopes only when none of the kinds can have them any more', async () => {
    const org = await newOrganization(app);
    const workspaceId = await record(await exporterOf(org));
    const of = `${WORKSPACES}/${org.workspaceId}`;
    const [days, sources] = [
      'UPDATE span_sources SET day = current_date - $2::integer',
      'SELECT 1 FROM span_sources',
    ];
    const kept = async (retention: object, age: number): Promise<boolean> => {
      expect((await (await org.as('admin')).patch(of, { retention })).status).toBe(200);
      await app.database.query(`${days} WHERE workspace_id = $1`, [workspaceId, age]);
      await worker.get(TelemetryRetention).deleteExpired();
      return (await app.database.query(`${sources} WHERE workspace_id = $1`, [workspaceId])).length > 0;
    };
    expect(await kept({ traces_days: 7, logs_days: 7 }, 62)).toBe(true);
    expect(await kept({ traces_days: 7, logs_days: 7, metrics_days: 20 }, 22)).toBe(true);
    expect(await kept({ traces_days: 7, logs_days: 7, metrics_days: 20 }, 23)).toBe(false);
  });

  const ALL = { traces: 1, spans: 1, models: 1, logs: 1, points: 1 };

  const exporterOf = async (of: TestOrganization) =>
    new RawExporter(app.url, await of.token('runtime'), of.workspaceId);

  /** Stores one record of each signal. Returns the workspace. */
  async function record(by: RawExporter): Promise<string> {
    const attributes = { 'gen_ai.request.model': 'm', 'session.id': 'a' };
    expect((await by.json([newSpan({ attributes })])).status).toBe(200);
    for (const { path: to, json } of Object.values(SIGNALS)) {
      const sent = await by.send(json([{ text: 'a' }]), { media: JSON_MEDIA, path: to });
      expect(sent.status).toBe(200);
    }
    return by.workspaceId!;
  }

  /** Moves everything in the workspaces to an earlier day. */
  async function moveTo(days: number, ...workspaceIds: string[]): Promise<void> {
    const day = new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
    for (const table of ['spans', 'log_records', 'metric_points'] as const) {
      await app.get(DayPartitionRepository).create(table, day);
      const update = `UPDATE ${table} SET day = $1::date WHERE workspace_id = ANY ($2::text[])`;
      await app.database.query(update, [day, workspaceIds]);
    }
    const traces = 'UPDATE traces SET day = $1::date WHERE workspace_id = ANY ($2::text[])';
    await app.database.query(traces, [day, workspaceIds]);
  }

  async function countOf(workspaceId: string): Promise<object> {
    const count = (table: string) => `(SELECT count(*) FROM ${table} WHERE workspace_id = $1)`;
    const [row] = await app.database.query<object>(
      `SELECT ${count('traces')} AS traces, ${count('spans')} AS spans, ${count('trace_models')} AS models,
         ${count('log_records')} AS logs, ${count('metric_points')} AS points`,
      [workspaceId],
    );
    return row!;
  }

  it('deletes old scores of traces, current and superseded, but not of results', async () => {
    const span = newSpan();
    await exporter.json([span]);
    const { workspaceId: workspace_id } = organization;
    const { body: experiment } = await admin.post('/eval/v1/experiments', { workspace_id, name: 'kept' });
    const { body: result } = await admin.post(`/eval/v1/experiments/${experiment.experiment_id}/results`, {
      workspace_id,
      case_id: 'a',
      trace_id: span.traceId,
      scores: { quality: 1 },
    });
    for (const score of [0, 1]) {
      const fields = { workspace_id, trace_id: span.traceId, scorer_name: 'quality', score };
      expect((await admin.post('/eval/v1/scores', fields)).status).toBe(201);
    }
    const scores = async (): Promise<any[]> =>
      (await admin.get('/eval/v1/scores?include_superseded=true')).body.items;
    expect(await scores()).toHaveLength(3);
    await retain({ scores_days: 3 });
    await worker.get(ScoreRetention).deleteExpired();
    expect(await scores()).toHaveLength(3);
    // ids contain the time of creation
    await app.database.query(
      `UPDATE scores SET score_id = $1 || right(score_id, 16), supersedes_score_id = NULL, superseded_by_score_id = NULL
       WHERE workspace_id = $2`,
      [firstIdAt('score', Date.now() - 4 * DAY_MS).slice(0, -16), workspace_id],
    );
    await worker.get(ScoreRetention).deleteExpired();
    expect((await scores()).map(({ result_id }) => result_id)).toEqual([result.result_id]);
  });

  it('deletes sessions that have not changed for longer, by the installation or the workspace', async () => {
    const { workspaceId: workspace_id } = organization;
    const { body: agent } = await admin.post('/agent/v1/agents', {
      workspace_id,
      name: 'a',
      instructions: 'Help.',
    });
    const open = async (): Promise<string> => {
      const sessions = `/agent/v1/agents/${agent.agent_id}/sessions`;
      return (await admin.post(sessions, { prompt: 'Hi.' })).body.session_id;
    };
    const ids = [await open(), await open(), await open()];
    for (const [index, days] of [0, 6, 51].entries()) {
      await app.database.query(
        `UPDATE agent_sessions SET updated_at = now() - $1::int * interval '1 day' WHERE session_id = $2`,
        [days, ids[index]],
      );
    }
    const left = async (): Promise<boolean[]> => {
      await worker.get(SessionRetention).deleteExpired();
      const answers = await Promise.all(ids.map((id) => admin.get(`/agent/v1/sessions/${id}`)));
      return answers.map(({ status }) => status === 200);
    };
    expect(await left()).toEqual([true, true, false]);
    await retain({ sessions_days: 5 });
    expect(await left()).toEqual([true, false, false]);
    const messages = 'SELECT session_id FROM session_messages WHERE session_id = ANY ($1::text[])';
    expect(await app.database.query(messages, [ids])).toEqual([{ session_id: ids[0] }]);
  });

  it('does not apply to the audit log, which the installation shortens', async () => {
    const entries = async (): Promise<number> =>
      (await admin.get(`/registry/v1/audit-log?resource_id=${organization.workspaceId}`)).body.page.total;
    const before = await entries();
    expect(before).toBeGreaterThan(0);
    await worker.get(AuditRetentionRepository).deleteBefore(new Date(Date.now() - DAY_MS));
    expect(await entries()).toBe(before);
    await worker.get(AuditRetentionRepository).deleteBefore(new Date(Date.now() + DAY_MS));
    expect(await entries()).toBe(0);
  });
});
