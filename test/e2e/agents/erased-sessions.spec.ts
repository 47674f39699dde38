import { randomBytes } from 'node:crypto';
import { sql } from '#platform/db';
import { newId } from '#platform/ids';
import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';
import { SessionCollectStep, SessionErasureStep } from '../../../src/agents/sessions/session-erasure.steps';
import { MessageRepository } from '../../../src/agents/sessions/message.repository';
import { AgentSessionRepository } from '../../../src/agents/sessions/session.repository';
import { StoredResultsStep } from '../../../src/mcp-endpoint/results/stored-results.step';
import { StoredResultRepository } from '../../../src/mcp-endpoint/results/stored-result.repository';
import { ModelAnswersStep } from '../../../src/model-gateway/calls/model-answers.step';
import { AnswerCacheRepository } from '../../../src/model-gateway/calls/answer-cache.repository';
import { ErasureItems, type ErasureRun, type ErasureStep, ErasureSteps } from '../../../src/resources';

describe('sessions and their messages', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let agent: string;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.as('owner');
    const body = { workspace_id: org.workspaceId, name: 'planner' };
    agent = (await owner.post('/agent/v1/agents', body)).headers.get('location')!;
  });

  const start = async (): Promise<string> =>
    (await owner.post(`${agent}/sessions`, { prompt: 'Hello' })).headers.get('location')!;
  const say = async (session: string, content: string, more: object = {}) =>
    (await owner.post(`${session}/messages`, { role: 'assistant', content, ...more })).body;

  it('keep their order and their count when a message is deleted by an admin', async () => {
    const session = await start();
    const second = await say(session, 'two');
    await say(session, 'three');
    const path = `${session}/messages/${second.message_id}`;
    expect((await (await org.as('editor', 'runtime')).delete(path)).status).toBe(403);
    expect((await owner.delete(path)).status).toBe(204);
    expect([(await owner.get(path)).status, (await owner.delete(path)).status]).toEqual([404, 404]);
    expect((await say(session, 'four')).ordinal).toBe(4);
    const { items, page } = (await owner.get(`${session}/messages`)).body;
    expect([page.total, items.map((one: any) => [one.ordinal, one.content])]).toEqual([
      3,
      [
        [1, 'Hello'],
        [3, 'three'],
        [4, 'four'],
      ],
    ]);
    expect((await owner.get(session)).body.message_count).toBe(3);
    const first = await owner.delete(`${session}/messages/${items[0].message_id}`);
    expect([first.status, first.body.detail]).toEqual([409, expect.stringContaining('Delete the session')]);
    expect((await owner.delete(session)).status).toBe(204);
    expect((await owner.get(`${session}/messages`)).status).toBe(404);
  });

  const runOf = (subject: 'end_user' | 'session', id: string, isDryRun = false): ErasureRun => ({
    erasureId: newId('era'),
    orgId: org.orgId,
    workspaceId: org.workspaceId,
    subject,
    isOfOrg: false,
    isForced: false,
    id,
    requestedAt: new Date(),
    isDryRun,
  });

  /** Runs a step to its end, and returns the sum of its counts. */
  async function runAll(step: ErasureStep, run: ErasureRun): Promise<Record<string, number>> {
    const sum: Record<string, number> = {};
    let cursor: string | null = null;
    do {
      const batch = await app.database.transaction((tx) => step.run(tx, run, cursor));
      for (const [kind, count] of Object.entries(batch.counts)) sum[kind] = (sum[kind] ?? 0) + count;
      cursor = batch.next;
    } while (cursor !== null);
    return sum;
  }

  it('are erased with the traces of an end user that their messages name, and no others', async () => {
    const items = new ErasureItems();
    const steps = new ErasureSteps();
    const collect = new SessionCollectStep(steps, items, app.get(MessageRepository));
    const erase = new SessionErasureStep(steps, items, app.get(AgentSessionRepository));
    const trace_id = randomBytes(16).toString('hex');
    const [named, other, byId] = [await start(), await start(), await start()];
    await say(named, 'of the user', { trace_id });
    await say(other, 'of another', { trace_id: randomBytes(16).toString('hex') });
    for (const isDryRun of [true, false]) {
      const run = runOf('end_user', 'ada', isDryRun);
      await app.database.transaction((tx) => items.addIds(tx, run, 'trace', [trace_id]));
      await runAll(collect, run);
      expect(await runAll(erase, run)).toEqual({ agent_sessions: 1, session_messages: 2 });
      expect((await owner.get(named)).status).toBe(isDryRun ? 200 : 404);
    }
    const run = runOf('session', byId.split('/').at(-1)!);
    await runAll(collect, run);
    expect(await runAll(erase, run)).toEqual({ agent_sessions: 1, session_messages: 1 });
    expect([(await owner.get(byId)).status, (await owner.get(other)).status]).toEqual([404, 200]);
  });

  it('leave no copies: the cached answers and stored results of the workspace', async () => {
    const workspace_id = org.workspaceId;
    const provider = await owner.post('/model/v1/providers', { workspace_id, name: 'p', kind: 'openai' });
    const targets = [{ provider_id: provider.body.provider_id, upstream_model: 'gpt-4o' }];
    const { model_id } = (await owner.post('/model/v1/models', { workspace_id, name: 'm', targets })).body;
    await app.database.query(
      sql`INSERT INTO model_answers (model_id, request_sha256, body, created_at, expires_at)
        VALUES (${model_id}, 'x', 'secret', now(), now() + interval '1 hour')`,
    );
    await app.database.query(
      sql`INSERT INTO mcp_stored_results (result_id, org_id, workspace_id, principal_type, principal_id, server_id, tool_name,
          content)
        VALUES (${newId('mcpr')}, ${org.orgId}, ${workspace_id}, 'user', 'ada', 'mcps_x', 'search', 'secret')`,
    );
    const steps = new ErasureSteps();
    const answers = new ModelAnswersStep(steps, new AnswerCacheRepository(app.database));
    const results = new StoredResultsStep(steps, new StoredResultRepository(app.database));
    for (const isDryRun of [true, false]) {
      const run = runOf('end_user', 'ada', isDryRun);
      const counts = { ...(await runAll(answers, run)), ...(await runAll(results, run)) };
      expect(counts).toEqual({ model_answers: 1, mcp_stored_results: 1 });
    }
    const rows = await app.database.query(
      sql`SELECT 1 FROM model_answers WHERE model_id = ${model_id}
        UNION ALL SELECT 1 FROM mcp_stored_results WHERE workspace_id = ${workspace_id}`,
    );
    expect(rows).toEqual([]);
  });
});
