import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { contentBytes } from '#platform/http';
import { newId } from '#platform/ids';
import { type RawJson, toRawJson } from '#platform/json';
import type { FieldError } from '#platform/problem';
import { BlobStore } from '#platform/storage';
import {
  type Declared,
  faultsInSpec,
  type Matched,
  newOwned,
  OwnedReconcileStep,
  type OwningApp,
  ReconcileSteps,
  ResourceKit,
} from '../../resources';
import { type FileEntity, OCTET_STREAM } from '../files/file.entity';
import { type ComparedFile, FileRepository } from '../files/file.repository';
import { FILE } from '../files/file.service';
import { FileSpecDto } from './file-spec.dto';

/** The maximum number of files in an app, because a reconcile stores them one by one in its transaction. */
const FILES_MAX = 100;

interface DeclaredFile {
  bytes: Buffer;
  sha256: string;
  mediaType: string;
  metadata: RawJson;
}

/** Reconciles the files that an app declares. */
@Injectable()
export class FileReconcileStep extends OwnedReconcileStep<FileEntity, DeclaredFile, ComparedFile> {
  readonly specType = FileSpecDto;

  constructor(
    steps: ReconcileSteps,
    kit: ResourceKit,
    files: FileRepository,
    private readonly blobs: BlobStore,
  ) {
    super(steps, kit, files, FILE);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return faultsInSpec(FileSpecDto, spec, pointer, (dto) => {
      contentBytes(dto, '');
      return [];
    });
  }

  override combinedFaults(declared: readonly Declared[]): FieldError[] {
    const excess = declared[FILES_MAX];
    return excess
      ? [{ pointer: excess.pointer, detail: `exceeds the limit of ${FILES_MAX} files per app` }]
      : [];
  }

  protected read(_tx: Tx, _scope: Scope, declared: readonly Declared[]) {
    return Promise.resolve({ contents: declared.map(contentOf), faults: [] });
  }

  protected isDifferent(row: ComparedFile, { sha256, mediaType, metadata }: DeclaredFile): boolean {
    return row.sha256 !== sha256 || row.media_type !== mediaType || row.metadata.text !== metadata.text;
  }

  /** Stores the bytes. If the reconcile is rolled back, the storage clean-up deletes them. */
  protected override async beforeWrite(
    tx: Tx,
    scope: Scope,
    changes: readonly Matched<DeclaredFile, ComparedFile>[],
    isPlanned: boolean,
  ): Promise<void> {
    const distinct = new Map(changes.map(({ content }) => [content.sha256, content.bytes]));
    for (const [sha256, bytes] of [...distinct].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (await this.blobs.hold(tx, scope, sha256)) continue;
      if (isPlanned) await this.blobs.pretendWithin(tx, scope, sha256, bytes.length);
      else await this.blobs.writeWithin(tx, scope, Readable.from([bytes]));
    }
  }

  protected newRow(scope: Scope, app: OwningApp, name: string, content: DeclaredFile): FileEntity {
    return {
      ...newOwned(scope, scope.workspaceId, app),
      file_id: newId('file'),
      name,
      ...columnsOf(content),
    };
  }

  protected columnsOf(_row: FileEntity, content: DeclaredFile): Partial<FileEntity> {
    return columnsOf(content);
  }
}

const columnsOf = ({ bytes, sha256, mediaType, metadata }: DeclaredFile) => ({
  media_type: mediaType,
  size_bytes: bytes.length,
  sha256,
  metadata,
});

/** Reads a validated declaration. */
function contentOf({ spec }: Declared): DeclaredFile {
  const dto = spec as unknown as FileSpecDto;
  const bytes = contentBytes(dto, '');
  return {
    bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    mediaType: dto.media_type ?? OCTET_STREAM,
    metadata: toRawJson(dto.metadata ?? {}),
  };
}
