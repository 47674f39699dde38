import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const SESSIONS = '/agent/v1/sessions';

export interface Session {
  session_id: string;
  agent_id: string;
  workspace_id: string;
  version_ordinal: number;
  title: string | null;
  prompt: string;
  session_status: string;
  message_count: number;
  generation: number;
  created_at: string;
}

export interface Message {
  message_id: string;
  ordinal: number;
  role: string;
  content: unknown;
  created_at: string;
}

/** An organization with an agent, and callers who use its sessions. */
export class SessionsFixture {
  private made = 0;
  agent = '';

  private constructor(
    readonly org: TestOrganization,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
    /** A deployed agent, which has only the role `runtime` in the workspace. */
    readonly runtime: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<SessionsFixture> {
    const org = await newOrganization(app);
    const runtime = app.api((await org.serviceAccount('runtime')).key);
    const fixture = new SessionsFixture(org, await org.member('editor'), await org.member('admin'), runtime);
    fixture.agent = await fixture.makeAgent();
    return fixture;
  }

  async makeAgent(workspace_id = this.org.workspaceId): Promise<string> {
    const body = { workspace_id, name: `agent-${(this.made += 1)}` };
    return (await this.editor.post('/agent/v1/agents', body)).body.agent_id as string;
  }

  begin(
    body: Record<string, unknown> = {},
    by: ApiClient = this.runtime,
    of: string = this.agent,
  ): Promise<Answer<Session>> {
    return by.post(`/agent/v1/agents/${of}/sessions`, { prompt: 'Hello', ...body });
  }

  say(
    session: string,
    body: Record<string, unknown>,
    by: ApiClient = this.runtime,
  ): Promise<Answer<Message>> {
    return by.post(`${SESSIONS}/${session}/messages`, { role: 'user', content: 'x', ...body });
  }

  async messagesOf(session: string, query = ''): Promise<Message[]> {
    const answer = await this.runtime.get<{ items: Message[] }>(`${SESSIONS}/${session}/messages${query}`);
    return answer.body.items;
  }
}
