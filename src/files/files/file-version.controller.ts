import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  ContentRequest,
  created,
  IfMatch,
  IncomingBody,
  type IncomingRequest,
  pathNumber,
  type Reply,
  type RequestedContent,
  SendsContent,
  type Versioned,
  versioned,
} from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { DeleteRoute, DeletionQueryDto } from '../../resources';
import { FileUploadService } from './file-upload.service';
import { TakesFile } from './file.controller';
import { FileVersionDto, FileVersionPageDto } from './file.dto';
import { FileService } from './file.service';

const KIND = 'file version';

@ApiTags('Files')
@Controller('file/v1/files/:file_id/versions')
export class FileVersionController {
  constructor(
    private readonly files: FileService,
    private readonly uploads: FileUploadService,
  ) {}

  /**
   * Upload a version of a file
   *
   * @remarks Returns 200 with the newest version if it has the same content and media type.
   */
  @Post()
  @Throws('storage_unavailable')
  @RequireRoleSomewhere('editor')
  @TakesFile({}, [])
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The ETag of the file, not of a version. Returns 412 if the file has changed since.',
  })
  @ApiCreatedResponse({ type: FileVersionDto })
  @ApiOkResponse({ type: FileVersionDto, description: 'The newest version already has this content.' })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @IncomingBody() body: IncomingRequest,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, isNew } = await this.uploads.addVersion(scope, id, body, ifMatch);
    const { version_ordinal: ordinal } = view;
    return isNew
      ? created(`/file/v1/files/${id}/versions/${ordinal}`, view, ordinal)
      : versioned(view, ordinal);
  }

  /** List the versions of a file */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: FileVersionPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<FileVersionDto>> {
    return this.files.listVersions(scope, id, query);
  }

  /** Get a version of a file */
  @Get(':version_ordinal')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: FileVersionDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Versioned<FileVersionDto>> {
    return this.files.getVersion(scope, id, pathNumber(ordinal, KIND));
  }

  /**
   * Delete a version of a file
   *
   * @remarks Not the newest version (409).
   */
  @DeleteRoute(':version_ordinal')
  delete(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @Param('version_ordinal') ordinal: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.files.deleteVersion(scope, id, pathNumber(ordinal, KIND), { force, ifMatch });
  }

  /** Download a version of a file */
  @Get(':version_ordinal/content')
  @RequireRoleSomewhere('viewer', 'runtime')
  @SendsContent()
  getContent(
    @CurrentScope() scope: OrgScope,
    @Param('file_id') id: string,
    @Param('version_ordinal') ordinal: string,
    @ContentRequest() requested: RequestedContent,
  ): Promise<Reply> {
    return this.files.getVersionContent(scope, id, pathNumber(ordinal, KIND), requested);
  }
}
