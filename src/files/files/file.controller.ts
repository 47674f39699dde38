import { applyDecorators, Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  ApiBodies,
  ContentRequest,
  created,
  IfMatch,
  IncomingBody,
  type IncomingRequest,
  MULTIPART_MEDIA,
  type Reply,
  type RequestedContent,
  RequestBody,
  SendsContent,
  type Versioned,
} from '#platform/http';
import type { Page } from '#platform/paging';
import { CreatesNamed, LifecycleController } from '../../resources';
import { FileUploadService, FORM_BYTES } from './file-upload.service';
import { FileDto, FileListQueryDto, FilePageDto, FileUploadQueryDto, PatchFileDto } from './file.dto';
import { FileService } from './file.service';

/** Declares that a route takes a file as a form, or as the body itself. @param fields of the form other than `file` */
export const TakesFile = (fields: Record<string, object>, required: readonly string[]): MethodDecorator =>
  applyDecorators(
    RequestBody({
      kind: 'streamed',
      limit: ({ FILE_LIMIT_BYTES }, media) =>
        media === MULTIPART_MEDIA ? FILE_LIMIT_BYTES + FORM_BYTES : FILE_LIMIT_BYTES,
    }),
    ApiBodies({
      [MULTIPART_MEDIA]: {
        type: 'object',
        properties: {
          ...fields,
          file: {
            type: 'string',
            contentMediaType: 'application/octet-stream',
            description: 'The file: a part with a filename. Its Content-Type is the media type of the file.',
          },
        },
        required: [...required, 'file'],
      },
      '*/*': {
        type: 'string',
        contentMediaType: 'application/octet-stream',
        description: 'The bytes of the file. Content-Type is its media type.',
      },
    }),
  );

@ApiTags('Files')
@Controller('file/v1/files')
export class FileController extends LifecycleController({
  param: 'file_id',
  view: FileDto,
  archive: { summary: 'Archive a file' },
  restore: { summary: 'Restore an archived file' },
  delete: { summary: 'Delete an archived file' },
}) {
  constructor(
    private readonly files: FileService,
    private readonly uploads: FileUploadService,
  ) {
    super(files);
  }

  /**
   * Upload a file
   *
   * @remarks Send a form with the part `file`, or the bytes themselves with `workspace_id`, `name` and `metadata` in the query. The bytes are streamed to storage. An interrupted upload leaves nothing behind. Names are unique in a workspace (409). To change the content of a file, create a version.
   */
  @Post()
  @Throws('storage_unavailable')
  @RequireRoleSomewhere('editor')
  @TakesFile(
    {
      workspace_id: { type: 'string' },
      name: { type: 'string', minLength: 1, maxLength: 255 },
      metadata: { type: 'string', description: 'A JSON object of at most 16 KiB.' },
    },
    ['workspace_id'],
  )
  @CreatesNamed(FileDto)
  async create(
    @CurrentScope() scope: OrgScope,
    @IncomingBody() body: IncomingRequest,
    @Query() query: FileUploadQueryDto,
  ): Promise<Reply> {
    const file = await this.uploads.create(scope, body, query);
    return created(`/file/v1/files/${file.view.file_id}`, file);
  }

  /** List files */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: FilePageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: FileListQueryDto): Promise<Page<FileDto>> {
    return this.files.list(scope, query);
  }

  /** Get a file */
  @Get(':file_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: FileDto })
  get(@CurrentScope() scope: OrgScope, @Param('file_id') id: string): Promise<Versioned<FileDto>> {
    return this.files.get(scope, id);
  }

  /** Rename a file or change its metadata */
  @Patch(':file_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: FileDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @Body() dto: PatchFileDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<FileDto>> {
    return this.files.patch(scope, id, dto, ifMatch);
  }

  /** Download the newest version of a file */
  @Get(':file_id/content')
  @RequireRoleSomewhere('viewer', 'runtime')
  @SendsContent()
  getContent(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @ContentRequest() requested: RequestedContent,
  ): Promise<Reply> {
    return this.files.getContent(scope, id, requested);
  }
}
