import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { AllowedBy, AnyPrincipal, AREAS, CurrentPrincipal, type Principal, Public } from '#platform/auth';
import { NotRepeatable, Reply, RequestBody, type ServiceRequest } from '#platform/http';
import { readFormOrJson, OAUTH_BODY_BYTES } from './form-or-json';
import { readKeyExchange } from './key-exchange.request';
import { ApiOAuthErrors, oauthError } from './oauth-error';
import { RevocationService } from './revocation.service';
import { RevokedTokenDto, RevokeTokenDto, TokenDto, TokenRequestDto } from './token.dto';
import { TokenService } from './token.service';

/** RFC 6749, section 5.1. */
const UNCACHED = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

@ApiTags('Tokens')
@Controller('registry/v1/tokens')
export class TokenController {
  constructor(
    private readonly tokens: TokenService,
    private readonly revocations: RevocationService,
  ) {}

  /** Exchange an API key for a token (OAuth 2.0 client credentials) */
  @Post()
  @Throws(
    'invalid_api_key',
    'account_suspended',
    'unsupported_media_type',
    'auth_unavailable',
    'token_service_account_unbound',
  )
  @HttpCode(200)
  @Public()
  @NotRepeatable()
  @RequestBody({ limit: OAUTH_BODY_BYTES, codings: ['gzip'] })
  @ApiConsumes('application/x-www-form-urlencoded', 'application/json')
  @ApiBody({ type: TokenRequestDto })
  @ApiOkResponse({ type: TokenDto })
  @ApiOAuthErrors()
  async exchange(@Req() request: ServiceRequest): Promise<Reply> {
    try {
      return new Reply(200, await this.tokens.exchange(readKeyExchange(request)), UNCACHED);
    } catch (error) {
      throw oauthError(error, request.headers.authorization);
    }
  }

  /** Revoke the caller's token or, as an admin, any token of the organization */
  @Post('revoke')
  @AllowedBy(...AREAS)
  @Throws('access_denied', 'forbidden', 'unsupported_media_type')
  @HttpCode(200)
  @AnyPrincipal()
  @RequestBody({ limit: OAUTH_BODY_BYTES, codings: ['gzip'] })
  @ApiConsumes('application/x-www-form-urlencoded', 'application/json')
  @ApiBody({ type: RevokeTokenDto })
  @ApiOkResponse({ type: RevokedTokenDto })
  revoke(@CurrentPrincipal() principal: Principal, @Req() request: ServiceRequest): Promise<RevokedTokenDto> {
    const { requestId } = request.context;
    return this.revocations.revoke(principal, requestId, readFormOrJson(RevokeTokenDto, request));
  }
}
