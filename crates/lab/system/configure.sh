# Configures the packages of this tree as their own scripts have it, and arranges the desktop.
# Run once, as root, with the tree as root.
set -e
export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
# Accounts first: everything else wants an owner.
dpkg --configure --force-depends base-passwd
dpkg --configure --force-depends base-files
# What has no configuration yet at first has it at the second attempt.
dpkg --configure --force-depends --force-confold -a || dpkg --configure --force-depends --force-confold -a
rm -f /usr/sbin/policy-rc.d
ldconfig
useradd --create-home --shell /bin/sh --uid 1000 user || true
mkdir -p /home/user /etc/systemd/system/graphical.target.wants
mv /page.html /home/user/page.html
echo 'Notes of the user.' > /home/user/notes.txt
chown -R 1000:1000 /home/user
ln -sf ../fstrial-login.service ../desktop.service /etc/systemd/system/graphical.target.wants/
echo laptop > /etc/hostname
echo '127.0.0.1 localhost laptop' > /etc/hosts
: > /etc/fstab
printf 'auto lo\niface lo inet loopback\n' > /etc/network/interfaces
# Timers of package management have no archive to ask.
rm -f /etc/systemd/system/timers.target.wants/apt-*.timer /etc/systemd/system/timers.target.wants/dpkg-*.timer
rm -rf /usr/share/doc /usr/share/man /usr/share/locale /usr/share/info /usr/share/lintian
rm -rf /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/*.log
