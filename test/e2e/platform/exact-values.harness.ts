import { type Answer, type ApiClient, newOrganization, type TestApp } from '#testing';

/** Numbers that JavaScript would change, and texts with NUL characters, as compact JSON. */
export const EXACT =
  '{"id":9007199254740993,"at":-1795459000000000001,"f":[1.0,-0,1e5,1E+2,0.1000000000000000000001,1e-400],' +
  '"big":123456789012345678901234567890,"rounded":1152921504606847000,"2":1,"1":2,' +
  '"nul\\u0000":["a\\u0000b","\\\\u0000","\\\\\\u0000\\\\"],"__proto__":{"constructor":1},"e":1e-999999}';

/** An organization whose clients send and read JSON as text. */
export class ExactJson {
  private nameCount = 0;

  private constructor(
    private readonly app: TestApp,
    private readonly token: string,
    readonly api: ApiClient,
    readonly workspaceId: string,
  ) {}

  static async open(app: TestApp): Promise<ExactJson> {
    const organization = await newOrganization(app);
    const token = await organization.token('admin');
    const { workspaceId } = organization;
    return new ExactJson(app, token, app.api(token).in(workspaceId), workspaceId);
  }

  /** Sends a body whose members are JSON text. Adds the workspace to a POST. */
  async send(method: 'POST' | 'PATCH', path: string, members: Record<string, string>): Promise<Answer> {
    const workspace: Record<string, string> =
      method === 'POST' ? { workspace_id: JSON.stringify(this.workspaceId) } : {};
    const body = objectOf({ ...workspace, ...members });
    return this.api.request(method, path, { body });
  }

  /** Returns a response as text, because parsing it would change its numbers. */
  async text(path: string): Promise<string> {
    const answer = await fetch(this.app.url + path, { headers: this.headers });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.text();
  }

  /** Posts content of any media type. Returns the text of the response. */
  async upload(path: string, type: string, content: string): Promise<string> {
    const headers = { ...this.headers, 'content-type': type };
    const answer = await fetch(this.app.url + path, { method: 'POST', headers, body: content });
    const text = await answer.text();
    expect([path, answer.status, text]).toEqual([path, 200, text]);
    return text;
  }

  /** Creates a dataset and returns its path. */
  async dataset(members: Record<string, string> = {}): Promise<string> {
    const { status, body } = await this.send('POST', '/eval/v1/datasets', { name: this.name(), ...members });
    expect([status, body.errors]).toEqual([201, undefined]);
    return `/eval/v1/datasets/${body.dataset_id}`;
  }

  /** Returns a new name, as JSON text. */
  name(): string {
    return `"n${(this.nameCount += 1)}"`;
  }

  private get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.token}`, 'x-service-workspace-id': this.workspaceId };
  }
}

/** Returns an object whose members are JSON text. */
export const objectOf = (members: Record<string, string>): string =>
  `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
