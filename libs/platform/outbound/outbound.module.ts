import { Module } from '@nestjs/common';
import { OutboundHttp } from './outbound-http';

@Module({ providers: [OutboundHttp], exports: [OutboundHttp] })
export class OutboundModule {}
