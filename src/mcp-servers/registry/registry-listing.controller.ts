import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  RegistryEntryDto,
  RegistryListQueryDto,
  RegistryPageDto,
  RegistryPageQueryDto,
  RegistryVersionQueryDto,
} from './registry-listing.dto';
import { RegistryListingService } from './registry-listing.service';

/** The API of the public MCP registry, so that its clients can list this service's servers. */
@ApiTags('MCP servers')
@Controller('mcp/v1/registry/v0/servers')
export class RegistryListingController {
  constructor(private readonly listing: RegistryListingService) {}

  /** List MCP servers in the format of the public MCP registry */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: RegistryPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: RegistryListQueryDto): Promise<RegistryPageDto> {
    return this.listing.list(scope, query);
  }

  /** List the versions of an MCP server in the format of the public MCP registry, newest first */
  @Get(':server_name/versions')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: RegistryPageDto })
  listVersions(
    @CurrentScope() scope: OrgScope,
    @Param('server_name') name: string,
    @Query() query: RegistryPageQueryDto,
  ): Promise<RegistryPageDto> {
    return this.listing.listVersions(scope, name, query);
  }

  /**
   * Get a version of an MCP server in the format of the public MCP registry
   *
   * @remarks Use `latest` for the newest version.
   */
  @Get(':server_name/versions/:version_name')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: RegistryEntryDto })
  getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('server_name') name: string,
    @Param('version_name') version: string,
    @Query() query: RegistryVersionQueryDto,
  ): Promise<RegistryEntryDto> {
    return this.listing.get(scope, name, version, query);
  }
}

/** The same routes under `v0.1`, the frozen version of the API, which most clients use. */
@ApiTags('MCP servers')
@Controller('mcp/v1/registry/v0.1/servers')
export class FrozenRegistryListingController extends RegistryListingController {}
