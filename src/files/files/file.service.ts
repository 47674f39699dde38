import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { runUnjoined } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import {
  type Reply,
  patchMetadata,
  type RequestedContent,
  storedContent,
  type Versioned,
} from '#platform/http';
import { newId } from '#platform/ids';
import { type RawJson, toRawJson } from '#platform/json';
import { problem } from '#platform/problem';
import { BlobStore, type WrittenBlob } from '#platform/storage';
import {
  type CopySource,
  type InstalledArtifact,
  markDrifted,
  newOwned,
  type OnConflict,
  OWNED_READERS,
  OwnedService,
  type PatchBody,
  type ResourceKind,
  ResourceKit,
} from '../../resources';
import {
  type FileDto,
  type FileVersionDto,
  type NewFileDto,
  PatchFileDto,
  toFileDto,
  toFileVersionDto,
} from './file.dto';
import {
  AUDITED_FIELDS,
  CONTENT_FIELDS,
  type FileEntity,
  type FileVersionRow,
  toFileDocument,
} from './file.entity';
import { FileRepository } from './file.repository';

/** Describes files to the resource kit. */
export const FILE: ResourceKind<FileEntity, FileDto> = {
  noun: 'file',
  type: 'file',
  readers: OWNED_READERS,
  id: 'file_id',
  generation: 'generation',
  immutable: ['file_id'],
  auditedFields: AUDITED_FIELDS,
  createdFields: [...AUDITED_FIELDS, 'acquired_from'],
  versions: { ordinal: 'version_ordinal', fields: CONTENT_FIELDS },
  unique: { constraint: 'files_name', field: 'name' },
  derived: markDrifted,
  search: { type: 'file', document: toFileDocument },
  toView: toFileDto,
};

/** A part of the content of a file. */
export interface FilePart {
  file: FileVersionRow | FileEntity;
  bytes: Buffer;
}

/** Stored bytes and their media type. */
export interface UploadedContent {
  blob: WrittenBlob;
  mediaType: string;
}

/** Files and their versions. Each change of the content creates a version. */
@Injectable()
export class FileService extends OwnedService<FileEntity, FileDto, FileVersionRow, FileVersionDto> {
  constructor(
    kit: ResourceKit,
    private readonly files: FileRepository,
    private readonly blobs: BlobStore,
  ) {
    super(kit, files, FILE, toFileVersionDto);
  }

  /** Errors: 400 for an unknown workspace; 403; 409 for a name that is taken or an archived workspace; those of `patch`. */
  create(
    scope: OrgScope,
    id: string,
    dto: NewFileDto,
    content: UploadedContent,
    onConflict?: OnConflict,
  ): Promise<Versioned<FileDto>> {
    const body = { ...dto, name: dto.name ?? id };
    const create = () =>
      this.createIn(scope, dto.workspace_id, async (workspace, tx) => {
        await this.blobs.keep(tx, workspace, content.blob);
        return {
          ...newOwned(scope, dto.workspace_id),
          file_id: id,
          name: body.name,
          metadata: toRawJson(dto.metadata ?? {}),
          ...columnsOf(content),
        };
      });
    return this.createOr(scope, onConflict, body, create, PatchFileDto, (existing, patch) =>
      this.change(scope, existing, patch, undefined, async ({ metadata }, tx) => {
        await this.blobs.keep(tx, scope, content.blob);
        return { metadata: patchMetadata(metadata, patch.metadata), ...columnsOf(content) };
      }),
    );
  }

  /** Installs a copy, see `installCopy`. An existing copy keeps its name and metadata, because they have no versions. */
  install(
    tx: Tx,
    scope: Scope,
    source: CopySource,
    { name, metadata, ...content }: UploadedContent & { name: string; metadata: RawJson },
  ): Promise<InstalledArtifact> {
    const columns = { ...columnsOf(content), acquired_from: source.from };
    const owned = newOwned(scope, scope.workspaceId);
    const created = { ...owned, file_id: newId('file'), name, metadata, ...columns };
    return this.installCopy(tx, scope, source, created, columns);
  }

  /**
   * Throws the errors of `create` that do not depend on the content: 400, 403 and 409 for the workspace, 409 for a name
   * that is taken, unless `on_conflict` allows it. Call it before reading the content.
   */
  checkCreatable(
    scope: OrgScope,
    { workspace_id, name }: NewFileDto,
    onConflict: OnConflict = 'error',
  ): Promise<void> {
    const check = async (tx: Tx): Promise<void> => {
      await this.kit.access.enter(tx, scope, workspace_id, ['editor']);
      if (name != null && onConflict === 'error')
        await this.checkNameFree(tx, scope, { workspace_id, name } as FileEntity);
    };
    // holds no connection while the content arrives
    return runUnjoined(() => this.transaction(scope, check));
  }

  /** Throws unless the caller may add a version: 404, 403. Call it before reading the content. */
  async checkAddable(scope: OrgScope, id: string): Promise<void> {
    this.kit.access.admit(scope, await this.files.find(scope, id), FILE.noun, id, ['editor'], FILE.readers);
  }

  /** Adds a version, or returns the newest one if it has the same content. Errors: those of every change. */
  addVersion(
    scope: OrgScope,
    id: string,
    content: UploadedContent,
    ifMatch: string | undefined,
  ): Promise<{ view: FileVersionDto; isNew: boolean }> {
    return this.transaction(scope, async (tx) => {
      const before = await this.lock(tx, scope, id, 'update');
      await this.checkChange(tx, scope, before, {}, ifMatch);
      await this.blobs.keep(tx, scope, content.blob);
      const row = await this.write(tx, scope, before, columnsOf(content), 'update');
      const version = await this.files.versions.find(scope.orgKey, id, row.version_ordinal, tx);
      return { view: toFileVersionDto(version!), isNew: row !== before };
    });
  }

  /** Errors: 422 for a new name of a file that an app declares; those of every change. */
  patch(scope: OrgScope, id: string, dto: PatchFileDto, ifMatch?: string): Promise<Versioned<FileDto>> {
    return this.change(scope, id, dto, ifMatch, (row) => ({
      name: dto.name,
      metadata: patchMetadata(row.metadata, dto.metadata),
    }));
  }

  protected override async onDelete(tx: Tx, scope: OrgScope, { file_id }: FileEntity): Promise<void> {
    this.blobs.release(tx, scope, await this.files.contentsOf(tx, scope, file_id));
  }

  protected override onDeleteVersion(tx: Tx, scope: OrgScope, { sha256 }: FileVersionRow): Promise<void> {
    this.blobs.release(tx, scope, [sha256]);
    return Promise.resolve();
  }

  protected override async checkChange(
    tx: Tx,
    scope: OrgScope,
    row: FileEntity,
    dto: PatchBody<FileEntity>,
    ifMatch: string | undefined,
  ): Promise<void> {
    await super.checkChange(tx, scope, row, dto, ifMatch);
    // A reconcile finds the file by its declared name.
    if (row.app_id !== null && dto.name !== undefined && dto.name !== row.name) {
      throw problem.immutableField('/name');
    }
  }

  /** Streams the content of the newest version. See `storedContent`. */
  async getContent(scope: OrgScope, id: string, requested: RequestedContent): Promise<Reply> {
    return this.contentOf(scope, await this.find(scope, id), requested);
  }

  async getVersionContent(
    scope: OrgScope,
    id: string,
    ordinal: number,
    requested: RequestedContent,
  ): Promise<Reply> {
    return this.contentOf(scope, await this.findVersion(scope, id, ordinal), requested);
  }

  /**
   * Reads a part of the content. Errors: 404, 503 `storage_unavailable`.
   *
   * @param ordinal the version. Defaults to the newest
   * @param length the maximum number of bytes to read into memory
   */
  async readPart(
    scope: OrgScope,
    id: string,
    ordinal: number | undefined,
    offset: number,
    length: number,
  ): Promise<FilePart> {
    const file =
      ordinal === undefined ? await this.find(scope, id) : await this.findVersion(scope, id, ordinal);
    const end = Math.min(file.size_bytes, offset + length) - 1;
    if (end < offset) return { file, bytes: Buffer.alloc(0) };
    const blob = await this.blobs.open(scope, file.sha256);
    const chunks: Buffer[] = [];
    for await (const chunk of blob.read({ start: offset, end })) chunks.push(chunk);
    return { file, bytes: Buffer.concat(chunks) };
  }

  private async contentOf(
    scope: OrgScope,
    { name, media_type, size_bytes, sha256 }: FileVersionRow | FileEntity,
    requested: RequestedContent,
  ): Promise<Reply> {
    const blob = await this.blobs.open(scope, sha256);
    return storedContent(requested, {
      type: media_type,
      filename: name,
      size: size_bytes,
      sha256,
      read: (range) => blob.read(range, true),
    });
  }
}

/** Returns the columns of a file that its content determines. */
const columnsOf = ({ blob, mediaType }: UploadedContent) => ({
  media_type: mediaType,
  size_bytes: blob.size,
  sha256: blob.sha256,
});
