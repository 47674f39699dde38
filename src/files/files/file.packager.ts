import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { parseJson, toRawJson } from '#platform/json';
import { BlobStore, type WrittenBlob } from '#platform/storage';
import {
  type ArtifactReference,
  type InstalledArtifact,
  type InstalledCopy,
  jsonFile,
  type PackedFiles,
  type Packager,
  Packagers,
  type PinnedArtifact,
  type UnpackedComponent,
} from '../../resources';
import type { FileEntity, FileVersionRow } from './file.entity';
import { FileRepository } from './file.repository';
import { FileService } from './file.service';

/** The file of a component with everything but the bytes. */
const MEMBERS_FILE = 'file.json';
/** The file of a component with the bytes. */
const CONTENT_FILE = 'content';

/** The content of `file.json`. */
interface PackagedFile {
  name: string;
  media_type: string;
  metadata: object;
}

/** Packs a version of a file with its present metadata, because metadata has no versions. */
@Injectable()
export class FilePackager implements Packager {
  readonly kind = 'file';
  readonly directory = 'files';

  constructor(
    packagers: Packagers,
    private readonly rows: FileRepository,
    private readonly service: FileService,
    private readonly blobs: BlobStore,
  ) {
    packagers.add(this);
  }

  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const pinned = await this.rows.published.pin(tx, scope, reference);
    if (!pinned) return null;
    const { row, version } = pinned;
    return {
      kind: this.kind,
      artifact_id: row.file_id,
      version_id: version.version_id,
      version_ordinal: version.version_ordinal,
      name: version.name,
      acquired_from: row.acquired_from,
      dependencies: [],
      content: pinned,
    };
  }

  async files(on: SqlExecutor, scope: Scope, { content }: PinnedArtifact): Promise<PackedFiles> {
    const { row, version } = content as { row: FileEntity; version: FileVersionRow };
    const { name, media_type, sha256, size_bytes } = version;
    const blob = await this.blobs.open(scope, sha256, on);
    const bytes = { path: CONTENT_FILE, size_bytes, sha256, content: () => blob.read() };
    return {
      files: [bytes, jsonFile(MEMBERS_FILE, { name, media_type, metadata: row.metadata })],
    };
  }

  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return this.rows.published.findCopies(tx, scope, artifactIds);
  }

  /** Errors: those of `FileService.install`. */
  async install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact> {
    let blob: WrittenBlob | undefined;
    let members: PackagedFile | undefined;
    for await (const { path, content } of component.files) {
      if (path === CONTENT_FILE) blob = await this.blobs.writeWithin(tx, scope, content);
      else members = parseJson(await buffer(content)) as PackagedFile;
    }
    if (!blob || !members) throw new Error(`The component ${component.key} is incomplete.`);
    return this.service.install(tx, scope, component, {
      name: members.name,
      metadata: toRawJson(members.metadata),
      blob,
      mediaType: members.media_type,
    });
  }
}
