import { createHash } from 'node:crypto';
import type { Scope } from '#platform/auth';
import { newId } from '#platform/ids';
import { type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';
import {
  type ArtifactKind,
  type ArtifactReference,
  type InstalledArtifact,
  type PackageFile,
  type PackedComponent,
  Packagers,
  slugOf,
  type UnpackedFile,
  narrowScope,
} from '../../../src/resources';

/** A component with its bytes. */
export interface PackedBytes {
  component: PackedComponent;
  files: (Omit<PackageFile, 'content'> & { bytes: Buffer })[];
}

/** Components in install order. The root is the last one. */
export type Packed = PackedBytes[];

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The digest of a component, as docs/reference/file-formats.md describes it. */
function digestOf(files: PackedBytes['files']): string {
  const hash = createHash('sha256');
  for (const { path, bytes } of files) {
    const name = Buffer.from(path);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    hash
      .update(length)
      .update(name)
      .update(Buffer.from(sha256(bytes), 'hex'));
  }
  return hash.digest('hex');
}

/** An organization that publishes or acquires. */
export class PackagesFixture {
  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly scope: Scope,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
  ) {}

  static async of(app: TestApp): Promise<PackagesFixture> {
    const org = await newOrganization(app);
    const scope = narrowScope(org.scope, org.workspaceId);
    return new PackagesFixture(app, org, scope, await org.member('editor'), await org.member('admin'));
  }

  /** Pins a resource with its dependencies and reads their files, as publishing does. */
  pack(kind: ArtifactKind, artifact_id: string, version: Partial<ArtifactReference> = {}): Promise<Packed> {
    const packagers = this.app.get(Packagers);
    return this.app.database.transaction(async (tx) => {
      const packed: Packed = [];
      const add = async (reference: ArtifactReference): Promise<PackedComponent> => {
        const packager = packagers.of(reference.kind);
        const pinned = await packager.pin(tx, this.scope, reference);
        if (!pinned) throw new Error(`${reference.artifact_id} is missing.`);
        const dependencies: PackedComponent[] = [];
        for (const dependency of pinned.dependencies) dependencies.push(await add(dependency));
        const { files } = await packager.files(tx, this.scope, pinned, dependencies);
        const read: PackedBytes['files'] = [];
        for (const { content, ...file } of files) {
          const chunks: Buffer[] = [];
          for await (const chunk of content()) chunks.push(chunk);
          const bytes = Buffer.concat(chunks);
          expect([bytes.length, sha256(bytes)]).toEqual([file.size_bytes, file.sha256]);
          read.push({ ...file, bytes });
        }
        const digest = digestOf(read);
        const key = `${packager.kind}s/${slugOf(pinned.name)}@sha256:${digest}`;
        const component = { ...pinned, key, digest };
        packed.push({ component, files: read });
        return component;
      };
      await add({ kind, artifact_id, ...version });
      return packed;
    });
  }

  /** Installs a package in one transaction, as acquiring does. @returns the copies, the root last */
  install(packed: Packed, release_id = newId('rel')): Promise<InstalledArtifact[]> {
    const packagers = this.app.get(Packagers);
    return this.app.database.transaction(async (tx) => {
      const installed = new Map<string, InstalledArtifact>();
      for (const { component, files } of packed) {
        const { key, kind, name, artifact_id, version_id, version_ordinal } = component;
        const packager = packagers.of(kind);
        const copies = await packager.findCopies(tx, this.scope, [artifact_id]);
        const copy = await packager.install(tx, this.scope, {
          key,
          name,
          files: streamed(files),
          from: { store_item_id: 'item_1', release_id, artifact_id, version_id, version_ordinal },
          copy: copies.get(artifact_id) ?? null,
          is_dependency: component !== packed.at(-1)!.component,
          resolve: (other) => installed.get(other)!,
        });
        installed.set(key, copy);
      }
      return [...installed.values()];
    });
  }

  /** Creates a resource, and returns its id. */
  async create(path: string, id: string, body: object): Promise<string> {
    const complete = { workspace_id: this.org.workspaceId, ...body };
    const answer = await this.editor.post<Record<string, string>>(path, complete);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body[id]!;
  }

  server(body: object = {}): Promise<string> {
    const tools = [{ name: 'search', input_schema: { type: 'object' } }];
    return this.create('/mcp/v1/servers', 'server_id', { name: 'desk', url: DESK, tools, ...body });
  }

  skill(body: object = {}): Promise<string> {
    const spec = { name: 'sums', description: 'Adds.', instructions: '# How' };
    return this.create('/skill/v1/skills', 'skill_id', { ...spec, ...body });
  }

  agent(body: object = {}): Promise<string> {
    return this.create('/agent/v1/agents', 'agent_id', { name: 'planner', ...body });
  }

  async read(path: string): Promise<any> {
    const answer = await this.editor.get(path);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }
}

export const DESK = 'https://mcp.example.com/mcp';

/** Returns all bytes of a package. */
export const bytesOf = (packed: Packed): Buffer =>
  Buffer.concat(
    packed.flatMap(({ files }) => files.flatMap(({ path, bytes }) => [Buffer.from(path), bytes])),
  );

/** Returns the files of a package by component. */
export const contentsOf = (packed: Packed) =>
  packed.map(({ component, files }) => [
    component.key,
    files.map(({ path, bytes }) => [path, bytes.toString('latin1')]),
  ]);

async function* streamed(files: PackedBytes['files']): AsyncGenerator<UnpackedFile> {
  for (const { path, size_bytes, bytes } of files) {
    yield await Promise.resolve({ path, size_bytes, content: chunksOf(bytes) });
  }
}

/** Yields small chunks, which split characters and members. */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += 1009)
    yield await Promise.resolve(bytes.subarray(from, from + 1009));
}
