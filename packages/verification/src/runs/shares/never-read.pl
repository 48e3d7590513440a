# Readers that never read: PORT COUNT ADDRESS… Each sends one request from an address in turn, and keeps its connection
# until stdin ends. In Perl, as Node cannot set these options: with a small window and small segments the kernel takes 44 kB
# of a response. It would take 4 MB of each otherwise, and of so many all that it has.
use strict;
use warnings;
use Errno qw(EAGAIN);
use Socket qw(:all);

use constant TCP_MAXSEG => 2;
# So many may wait for the first byte at a time: no more than a slow machine accepts within a second. A host that leaves
# one without a byte for a second gets the next one all the same.
use constant WITHOUT_REPLY => 300;
use constant PATIENCE => 100;
my ($port, $count, @addresses) = @ARGV;
my @paths = ('/docs/static/swagger-ui-bundle.js', '/openapi.json');
my @sockets;
$SIG{PIPE} = 'IGNORE';
$| = 1;
for my $index (0 .. $count - 1) {
  my $address = $addresses[$index % @addresses];
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
  setsockopt($socket, SOL_SOCKET, SO_RCVBUF, 2048) or die "SO_RCVBUF: $!\n";
  setsockopt($socket, IPPROTO_TCP, TCP_MAXSEG, 536) or die "TCP_MAXSEG: $!\n";
  bind($socket, pack_sockaddr_in(0, inet_aton($address))) or die "bind $address: $!\n";
  # The host may have closed it by now.
  connect($socket, pack_sockaddr_in($port, inet_aton('127.0.0.1')))
    and syswrite($socket, "GET $paths[$index % @paths] HTTP/1.1\r\nhost: x\r\n\r\n");
  push @sockets, $socket;
  next if $index % 40 != 39;
  pause();
  my $before = $index - WITHOUT_REPLY;
  for (my $turn = 0; $before >= 0 && $turn < PATIENCE && is_waiting($sockets[$before]); $turn += 1) { pause() }
}
print "there\n";
<STDIN>;

sub pause { select(undef, undef, undef, 0.01) }

sub is_waiting {
  my ($socket) = @_;
  return !defined(recv($socket, my $byte, 1, MSG_PEEK | MSG_DONTWAIT)) && $!{EAGAIN};
}
