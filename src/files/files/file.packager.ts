import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { parseJson, toRawJson } from '#platform/json';
import { BlobStore, type WrittenBlob } from '#platform/storage';
import {
  type InstalledArtifact,
  jsonFile,
  OwnedPackager,
  type PackedFiles,
  Packagers,
  type PinnedArtifact,
  type PinnedRow,
  type UnpackedComponent,
} from '../../resources';
import type { FileEntity, FileVersionRow } from './file.entity';
import { FileRepository } from './file.repository';
import { FileService } from './file.service';

/** The file of a component that holds everything except the bytes. */
const MEMBERS_FILE = 'file.json';
/**
 * The file of a component that holds the bytes. Sorts after `file.json`, so that `file.json` can be read without them.
 */
const CONTENT_FILE = 'payload';

/** The content of `file.json`. */
interface PackagedFile {
  name: string;
  media_type: string;
  metadata: object;
}

/** Packs a version of a file with the current metadata of the file, because metadata has no versions. */
@Injectable()
export class FilePackager extends OwnedPackager<FileEntity, FileVersionRow> {
  constructor(
    packagers: Packagers,
    files: FileRepository,
    private readonly service: FileService,
    private readonly blobs: BlobStore,
  ) {
    super(packagers, 'file', files);
  }

  async files(on: SqlExecutor, scope: Scope, { content }: PinnedArtifact): Promise<PackedFiles> {
    const { row, version } = content as PinnedRow<FileEntity, FileVersionRow>;
    const { name, media_type, sha256, size_bytes } = version;
    const blob = await this.blobs.open(scope, sha256, on);
    return {
      files: [
        jsonFile(MEMBERS_FILE, { name, media_type, metadata: row.metadata }),
        { path: CONTENT_FILE, size_bytes, sha256, content: () => blob.read() },
      ],
    };
  }

  /** Stores the bytes of a component before it is installed. Errors: 503 `storage_unavailable`. */
  async stage(scope: Scope, { key, files }: Pick<UnpackedComponent, 'key' | 'files'>): Promise<WrittenBlob> {
    for await (const { path, content } of files) {
      if (path === CONTENT_FILE) return this.blobs.write(scope, content);
    }
    throw incomplete(key);
  }

  /** Errors: those of `FileService.install`. */
  async install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact> {
    const { key, files, staged } = component;
    let members: PackagedFile | undefined;
    for await (const { path, content } of files) {
      if (path !== MEMBERS_FILE) continue;
      members = parseJson(await buffer(content)) as PackagedFile;
      break;
    }
    if (!staged || !members) throw incomplete(key);
    await this.blobs.keep(tx, scope, staged);
    return this.service.install(tx, scope, component, {
      name: members.name,
      metadata: toRawJson(members.metadata),
      blob: staged,
      mediaType: members.media_type,
    });
  }
}

const incomplete = (key: string): Error => new Error(`The component ${key} is incomplete.`);
