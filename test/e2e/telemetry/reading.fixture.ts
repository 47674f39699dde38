import {
  type Answer,
  type ApiClient,
  jsonExport,
  newOrganization,
  newSpan,
  type TestApp,
  type TestAttributes,
  type TestOrganization,
  type TestSpan,
} from '#testing';
import type { SqlExecutor } from '#platform/db';
import { JSON_MEDIA, RawExporter, TRACES } from './otlp.harness';

export const SESSIONS = '/telemetry/v1/sessions';
export const MS = 1_000_000n;
export const MINUTE = 60_000n * MS;

const INCONSISTENT = `
  SELECT workspace_id, session_id, t.last, s.last_started_at FROM (
    SELECT workspace_id, session_id, max(started_at) AS last FROM traces WHERE session_id IS NOT NULL GROUP BY 1, 2
  ) t FULL JOIN trace_sessions s USING (workspace_id, session_id) WHERE t.last IS DISTINCT FROM s.last_started_at`;

/** Returns sessions, of one workspace if given, whose row differs from their traces; there should be none. */
export const inconsistentSessions = (database: SqlExecutor, workspaceId?: string): Promise<object[]> =>
  database.query(`SELECT * FROM (${INCONSISTENT}) s WHERE $1::text IS NULL OR workspace_id = $1`, [
    workspaceId ?? null,
  ]);

/** Adds the missing sessions of traces. */
export const addMissingSessions = (database: SqlExecutor): Promise<object[]> =>
  database.query(
    `INSERT INTO trace_sessions (workspace_id, session_id, last_started_at)
     SELECT workspace_id, session_id, last FROM (${INCONSISTENT}) missing`,
  );

/** A workspace with a sender and a reader of traces. */
export class ReadingWorkspace {
  private constructor(
    readonly organization: TestOrganization,
    readonly viewer: ApiClient,
    readonly exporter: RawExporter,
  ) {}

  static async open(app: TestApp): Promise<ReadingWorkspace> {
    const organization = await newOrganization(app);
    const token = await organization.token('runtime');
    const exporter = new RawExporter(app.url, token, organization.workspaceId);
    return new ReadingWorkspace(organization, await organization.as('viewer'), exporter);
  }

  get id(): string {
    return this.organization.workspaceId;
  }

  /** Stores spans. @returns the ids of their traces. */
  async send(spans: Partial<TestSpan>[], resource?: TestAttributes): Promise<string[]> {
    const sent = spans.map(newSpan);
    const { status } = await this.exporter.send(jsonExport(sent, resource), { media: JSON_MEDIA });
    expect(status).toBe(200);
    return sent.map(({ traceId }) => traceId);
  }

  async list(query = ''): Promise<{ items: any[]; page: any }> {
    const { status, body } = await this.viewer.get(TRACES + query);
    expect([query, status]).toEqual([query, 200]);
    return body;
  }

  /** Returns the root names of the listed traces. */
  async names(query = ''): Promise<string[]> {
    return (await this.list(query)).items.map((trace) => trace.root_name);
  }

  /**
   * Follows `next_cursor`, and returns the items of all pages and the number of pages.
   *
   * @param further path of further pages, if it differs from the path of the first page
   */
  async pages(path: string, further = path): Promise<{ items: any[]; count: number }> {
    const items: any[] = [];
    for (let count = 1, next = path; ; count++) {
      const { status, body }: Answer = await this.viewer.get(next);
      expect(status).toBe(200);
      items.push(...body.items);
      if (body.page.next_cursor === null) return { items, count };
      next = `${further}${further.includes('?') ? '&' : '?'}cursor=${body.page.next_cursor}`;
    }
  }
}
