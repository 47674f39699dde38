import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { fromBufferPromise } from 'yauzl';
import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const SKILLS = '/skill/v1/skills';

/** Returns a SKILL.md. */
export const skillMd = (name: string, more = '', body = '# How\n'): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n\n${body}`;

/** An organization with callers who create and read skills in its workspace. */
export class SkillCallers {
  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
    private readonly token: string,
  ) {}

  static async of(app: TestApp): Promise<SkillCallers> {
    const org = await newOrganization(app);
    const token = await org.token('editor');
    return new SkillCallers(app, org, app.api(token), await org.member('admin'), token);
  }

  /** Creates a skill from members. */
  create(body: Record<string, unknown>, by = this.editor): Promise<Answer> {
    const members = { description: 'Does things.', instructions: '# How\n', ...body };
    return by.post(SKILLS, { workspace_id: this.org.workspaceId, ...members });
  }

  /** Creates a skill from a zip archive. */
  upload(zip: Buffer, path = `${SKILLS}?workspace_id=${this.org.workspaceId}`): Promise<Answer> {
    return this.editor.post(path, zip, { 'content-type': 'application/zip' });
  }

  /** Creates a skill from the files of a form. @param files contents by path */
  uploadForm(files: readonly (readonly [string, string | Buffer])[], path = SKILLS): Promise<Answer> {
    const form = formOf([...files], path === SKILLS ? this.org.workspaceId : undefined);
    return this.editor.post(path, form, { 'content-type': 'multipart/form-data; boundary=b' });
  }

  /** Sends a GET, and returns the bytes of the response. */
  async download(path: string, headers: Record<string, string> = {}) {
    const answer = await fetch(this.app.url + path, {
      headers: { authorization: `Bearer ${this.token}`, ...headers },
    });
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
  }
}

/** Returns a form as a browser writes it, but without checking file names. */
export function formOf(
  files: readonly (readonly [string, string | Buffer])[],
  workspaceId?: string,
  media = 'application/octet-stream',
): Buffer {
  const field = workspaceId
    ? `--b\r\nContent-Disposition: form-data; name="workspace_id"\r\n\r\n${workspaceId}\r\n`
    : '';
  const parts = files.map(([name, content]) =>
    Buffer.concat([
      Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: ${media}\r\n\r\n`,
      ),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
  );
  return Buffer.concat([Buffer.from(field), ...parts, Buffer.from('--b--\r\n')]);
}

/** Returns the files of an archive by path, in its order, as read by an independent library. */
export async function unzipped(zip: Buffer): Promise<Map<string, string>> {
  const archive = await fromBufferPromise(zip);
  const files = new Map<string, string>();
  for await (const entry of archive.eachEntry()) {
    const content = await archive.openReadStreamPromise(entry);
    files.set(entry.fileName, await text(Readable.from(content).setEncoding('latin1')));
  }
  return files;
}
