import { Controller, Get, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public, TrustedIssuers } from '#platform/auth';
import { Environment } from '#platform/config';
import { type CachedDocument, DocumentsByUrl } from '#platform/http';
import { Throws } from '#platform/problem';
import { ProtectedResourceDto } from './protected-resource.dto';

/** The path of the endpoint's metadata: the well-known path of RFC 9728, followed by the path of the resource. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

@ApiTags('MCP endpoint')
@Controller('.well-known/oauth-protected-resource')
export class ProtectedResourceController {
  private readonly documents: DocumentsByUrl;

  constructor(
    environment: Environment,
    private readonly issuers: TrustedIssuers,
  ) {
    this.documents = new DocumentsByUrl(environment, (url) => this.metadataOf(url));
  }

  /** Get the metadata of the MCP endpoint as an OAuth 2.0 protected resource (RFC 9728) */
  @Get('mcp')
  @Public()
  @Throws('not_found')
  @ApiOkResponse({ type: ProtectedResourceDto })
  getMcp(@Req() request: Request): Promise<CachedDocument> {
    return this.documents.for(request);
  }

  /**
   * Get the metadata of the MCP endpoint at the root of the well-known path (RFC 9728)
   *
   * @remarks Some clients request the metadata without the path of the endpoint.
   */
  @Get()
  @Public()
  @Throws('not_found')
  @ApiOkResponse({ type: ProtectedResourceDto })
  get(@Req() request: Request): Promise<CachedDocument> {
    return this.getMcp(request);
  }

  private metadataOf(url: string): ProtectedResourceDto {
    return {
      resource: `${url}/mcp`,
      authorization_servers: [url, ...this.issuers.publicUrls()],
      bearer_methods_supported: ['header'],
      resource_name: 'Agent registry',
      resource_documentation: `${url}/docs`,
    };
  }
}
