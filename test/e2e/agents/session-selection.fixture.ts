import {
  type Answer,
  type ApiClient,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  type TestApp,
  type TestOrganization,
} from '#testing';

/** An organization with agents that have many sessions. */
export class ManySessions {
  private made = 0;

  private constructor(
    private readonly app: TestApp,
    readonly org: TestOrganization,
    readonly evaluator: ApiClient,
    private readonly runtime: ApiClient,
    /** The time that ages are relative to, however long a test takes. */
    readonly began: Date,
  ) {}

  static async of(app: TestApp): Promise<ManySessions> {
    const org = await newOrganization(app);
    return new ManySessions(app, org, await org.as('evaluator'), await org.as('runtime'), new Date());
  }

  async newScorer(): Promise<string> {
    const made = await this.evaluator.post('/eval/v1/scorers', {
      workspace_id: this.org.workspaceId,
      name: 'any',
      scorer_kind: 'code',
      grain: 'session',
      definition: { language: 'javascript', source: 'function score() { return 1; }' },
    });
    return made.body.scorer_id as string;
  }

  /** Inserts an agent with sessions, named after their age in minutes. */
  async newAgent(count: number): Promise<{ agent: string; session: (age: number) => string }> {
    const { workspaceId: workspace_id, orgId } = this.org;
    const name = `agent-${(this.made += 1)}`;
    const { body } = await this.evaluator.post('/agent/v1/agents', { workspace_id, name });
    // session ids are unique in the database
    const prefix = `${body.agent_id}-`;
    await this.app.database.query(
      `INSERT INTO agent_sessions
         (session_id, org_id, workspace_id, agent_id, version_ordinal, prompt, session_status, message_count, last_ordinal,
          last_message_at, metadata, generation, created_at, updated_at, created_by)
       SELECT $4 || n, $1, $2, $3, 1, 'many', 'active', 0, 0, $6::timestamptz - n * interval '1 minute', '{}', 1,
              now(), now(), 'test'
       FROM generate_series(1, $5::integer) n`,
      [orgId, workspace_id, body.agent_id, prefix, count, this.began],
    );
    return { agent: body.agent_id as string, session: (age) => `${prefix}${age}` };
  }

  async trace(session: string, at: Date): Promise<void> {
    const attributes = { 'session.id': session };
    const start = BigInt(at.getTime()) * 1_000_000n;
    const span = newSpan({ traceId: newTraceId(), attributes, start });
    expect((await this.runtime.post('/telemetry/v1/traces', jsonExport([span]))).status).toBe(200);
  }

  ago(minutes: number): Date {
    return new Date(this.began.getTime() - minutes * 60_000);
  }

  score(scorer: string, selection: Record<string, unknown>): Promise<Answer> {
    return this.evaluator.post(`/eval/v1/scorers/${scorer}/score`, { mode: 'test', ...selection });
  }

  async selected(scorer: string, selection: Record<string, unknown>): Promise<string[]> {
    const answer = await this.score(scorer, selection);
    expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    return answer.body.results.map(({ session_id }: any) => session_id);
  }
}
