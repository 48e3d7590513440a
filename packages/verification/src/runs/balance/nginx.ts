import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'

export interface Balancer {
  readonly url: string
  stop(): Promise<void>
}

export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0

/**
 * nginx in front of `ports` of this machine, with keep-alive connections. It never retries, so a
 * request that a host loses is a failure.
 */
export async function startNginx(folder: string, ports: readonly number[]): Promise<Balancer> {
  await mkdir(folder, { recursive: true })
  const port = await freePort()
  await writeFile(join(folder, 'nginx.conf'), configuration(folder, port, ports))
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  await untilItResponds(url, child)
  return {
    url,
    async stop() {
      const ended = once(child, 'exit')
      if (child.exitCode === null && child.kill('SIGQUIT')) await ended
    },
  }
}

const configuration = (folder: string, port: number, ports: readonly number[]) => `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 1000000;
  upstream hosts {
    ${ports.map((to) => `server 127.0.0.1:${to};`).join('\n    ')}
    keepalive 64;
    keepalive_requests 1000000;
    # Shorter than the hosts keep theirs (10 s), so that nginx is the one that ends an idle connection.
    keepalive_timeout 5s;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://hosts;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_next_upstream off;
    }
  }
}
`

async function untilItResponds(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('nginx ended while it started: see what it wrote above')
    const responded = await fetch(`${url}/health/ready`).catch(() => undefined)
    await responded?.arrayBuffer()
    if (responded?.ok) return
  }
}

/** A free port. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
