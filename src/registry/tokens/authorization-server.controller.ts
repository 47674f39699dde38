import { Controller, Get, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '#platform/auth';
import { Environment } from '#platform/config';
import { type CachedDocument, DocumentsByUrl } from '#platform/http';
import { Throws } from '#platform/problem';
import { AuthorizationServerDto } from './token.dto';

@ApiTags('Tokens')
@Controller('.well-known/oauth-authorization-server')
export class AuthorizationServerController {
  private readonly documents: DocumentsByUrl;

  constructor(environment: Environment) {
    this.documents = new DocumentsByUrl(environment, metadataOf);
  }

  /** Get the metadata of this service as an OAuth 2.0 authorization server (RFC 8414) */
  @Get()
  @Public()
  @Throws('not_found')
  @ApiOkResponse({ type: AuthorizationServerDto })
  get(@Req() request: Request): Promise<CachedDocument> {
    return this.documents.for(request);
  }
}

const metadataOf = (issuer: string): AuthorizationServerDto => ({
  issuer,
  // no grant uses this endpoint, but clients built on the official MCP SDK reject metadata without it
  authorization_endpoint: `${issuer}/docs`,
  token_endpoint: `${issuer}/registry/v1/tokens`,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  response_types_supported: [],
});
