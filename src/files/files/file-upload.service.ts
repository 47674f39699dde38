import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import {
  type IncomingRequest,
  MULTIPART_MEDIA,
  parseBody,
  readFormWithFile,
  validateBody,
  type Versioned,
} from '#platform/http';
import { newId } from '#platform/ids';
import { Problem, problem } from '#platform/problem';
import { BlobStore } from '#platform/storage';
import { type FileDto, type FileUploadQueryDto, type FileVersionDto, NewFileDto } from './file.dto';
import { FileService, type UploadedContent } from './file.service';
import { MEDIA_TYPE, OCTET_STREAM } from './file.entity';

/** The maximum size of a form without its file, in bytes. */
export const FORM_BYTES = 256 * 1024;

const FIELD_BYTES = 64 * 1024;
const NEW_FILE_FIELDS = ['workspace_id', 'name', 'metadata'] as const;
type NewFileFields = { [Field in (typeof NEW_FILE_FIELDS)[number]]?: string | undefined };

/** An upload whose bytes are stored. */
interface Upload extends UploadedContent {
  fields: NewFileFields;
  /** The name that the client gave the uploaded file, or an empty string. */
  filename: string;
}

/** Receives uploads: streams their bytes to storage, then creates files and versions. */
@Injectable()
export class FileUploadService {
  constructor(
    private readonly files: FileService,
    private readonly blobs: BlobStore,
    private readonly environment: Environment,
  ) {}

  /** Errors: 400 for invalid fields, 413, 408, 503 `storage_unavailable`; those of `FileService.create`. */
  async create(
    scope: OrgScope,
    request: IncomingRequest,
    query: FileUploadQueryDto,
  ): Promise<Versioned<FileDto>> {
    const isForm = isFormOf(request);
    if (isForm)
      rejectFields(query, (name) =>
        problem.invalidQuery(name, 'must be a form field, not a query parameter'),
      );
    try {
      if (!isForm) await this.files.checkCreatable(scope, newFileOf(query, ''), query.on_conflict);
      const upload = await this.receive(scope, request, isForm, query);
      return await this.blobs.keepOrDiscard([upload.blob], () =>
        this.files.create(
          scope,
          newId('file'),
          newFileOf(upload.fields, upload.filename),
          upload,
          query.on_conflict,
        ),
      );
    } catch (error) {
      throw isForm ? error : toQueryProblem(error);
    }
  }

  /** Errors: 413, 408, 503 `storage_unavailable`; those of `FileService.addVersion`. */
  async addVersion(
    scope: OrgScope,
    id: string,
    request: IncomingRequest,
    ifMatch?: string,
  ): Promise<{ view: FileVersionDto; isNew: boolean }> {
    await this.files.checkAddable(scope, id);
    const upload = await this.receive(scope, request, isFormOf(request), {});
    return this.blobs.keepOrDiscard([upload.blob], () => {
      rejectFields(upload.fields, (name) => {
        const detail = 'is a member of the file, not of a version. Change it with PATCH';
        return problem.invalidField(`/${name}`, detail);
      });
      return this.files.addVersion(scope, id, upload, ifMatch);
    });
  }

  private async receive(
    scope: OrgScope,
    request: IncomingRequest,
    isForm: boolean,
    fields: NewFileFields,
  ): Promise<Upload> {
    if (!isForm) {
      const mediaType = mediaTypeFrom(request.mediaType);
      const blob = await this.blobs.write(scope, request.bytes, request.length);
      return { blob, mediaType, fields, filename: '' };
    }
    const form = await readFormWithFile(
      request,
      {
        file: 'file',
        fileBytes: this.environment.FILE_LIMIT_BYTES,
        fields: NEW_FILE_FIELDS,
        fieldBytes: FIELD_BYTES,
      },
      (content) => this.blobs.write(scope, content, leastFileBytes(request)),
      (blob) => this.blobs.discard(blob),
    );
    const { stored: blob, mediaType, filename } = form;
    return { blob, mediaType: mediaTypeFrom(mediaType), fields: form.fields, filename };
  }
}

/** Returns how many bytes the file of a form has at least. */
const leastFileBytes = ({ length }: IncomingRequest): number | undefined =>
  length === undefined ? undefined : Math.max(length - FORM_BYTES, 0);

const isFormOf = ({ mediaType }: IncomingRequest): boolean => mediaType === MULTIPART_MEDIA;

/** The Content-Type that curl and other clients send by default, whatever the bytes. */
const CLIENT_DEFAULT_TYPE = 'application/x-www-form-urlencoded';

const mediaTypeFrom = (type: string): string =>
  type !== CLIENT_DEFAULT_TYPE && MEDIA_TYPE.test(type) ? type : OCTET_STREAM;

/** Validates the fields of a new file. Errors: 400, with pointers to fields. */
function newFileOf({ workspace_id, name, metadata }: NewFileFields, filename: string): NewFileDto {
  return validateBody(NewFileDto, {
    ...(workspace_id !== undefined && { workspace_id }),
    name: name ?? (filename === '' ? null : filename),
    ...(metadata !== undefined && { metadata: metadataOf(metadata) }),
  });
}

/** Reports a problem with the fields of a new file as one of the query, because raw uploads send them there. */
function toQueryProblem(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== 'invalid_request' || !error.errors) return error;
  return problem.invalidQueries(
    error.errors.map((one) =>
      'pointer' in one ? { parameter: one.pointer.split('/')[1]!, detail: one.detail } : one,
    ),
  );
}

function metadataOf(text: string): unknown {
  try {
    return parseBody(Buffer.from(text));
  } catch (error) {
    throw error instanceof Problem ? error.withPointerPrefix('/metadata') : error;
  }
}

function rejectFields(fields: NewFileFields, problemOf: (name: string) => Problem): void {
  const present = NEW_FILE_FIELDS.find((name) => fields[name] !== undefined);
  if (present !== undefined) throw problemOf(present);
}
